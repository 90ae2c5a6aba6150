#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/export.h"

namespace bert {

class Json;

/// How a model that writes tokens is asked for them: generation_config.json of transformers, or the
/// same keys of config.json where there is no such file. Lengths count the token that a target
/// begins with, as transformers does.
struct BERT_API GenerationConfig {
  /// When a beam search ends: with enough finished hypotheses (yes), when no better ones are likely
  /// (no), or when none can come (never).
  enum class Early { no, yes, never };

  size_t num_beams = 1;  ///< 1: greedy
  double length_penalty = 1;
  Early early_stopping = Early::no;
  size_t max_length = 21;     ///< tokens of a target with the first and the last
  size_t min_length = 0;      ///< no end before
  size_t min_new_tokens = 0;  ///< the same without the first
  double repetition_penalty = 1;
  size_t no_repeat_ngram_size = 0;                       ///< 0: n-grams may come again
  std::vector<std::vector<int32_t>> bad_words_ids = {};  ///< that are never written
  std::vector<int32_t> suppress_tokens = {}, begin_suppress_tokens = {};
  std::optional<int32_t> forced_bos_token_id = {};  ///< the first token behind the start
  std::vector<int32_t> forced_eos_token_id = {};    ///< the last one of max_length
  bool renormalize_logits = false;  ///< log-probabilities add up to 1 again after all of these
  int32_t start = 0;                ///< decoder_start_token_id, else bos_token_id
  std::vector<int32_t> eos = {};    ///< none: only max_length ends a target
  int32_t pad = 0;                  ///< else the first of eos

  /// Reads and checks the root of the file, or `of_config` of config.json, where a decoder's own
  /// config has what the whole lacks. `positions`: how many tokens a target of this model may have
  /// at all; `vocab_size`: ids are below it. Throws Error(unsupported), naming the key, for values
  /// out of range and for all that would change the tokens and that we lack (sampling,
  /// constraints, ..).
  static GenerationConfig read(const Json& root, bool of_config, size_t positions,
                               size_t vocab_size);
};

}  // namespace bert
