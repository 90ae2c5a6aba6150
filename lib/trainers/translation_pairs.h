#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/text_counts.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/train/train_pieces.h"
#include "tokenizer/translation_tokenizers.h"
#include "trainers/examples.h"
#include "training/training_batch.h"

namespace bert {

/// What a file of sources and targets looks like.
struct PairFiles : RecordForm {
  std::vector<std::string> files;
  std::vector<std::string> fields;  ///< places of source and target; empty: 1 and 2, or the keys
                                    ///< text and text_pair
  Wanted wanted = Wanted::text_or_objects;  ///< other input is refused
};

/// One source and its target. The file is one of PairFiles::files.
struct TextPair {
  std::string source, target;
  size_t file = 0;
  uint64_t record = 0;
};

/// Throws Error(data) that names a record whose source or target is missing or empty, or a file
/// without pairs.
std::vector<TextPair> read_pairs(const PairFiles& from);

/// The files of a new tokenizer whose units are learned from the pairs, sources and targets each by
/// their own.
std::vector<std::pair<std::string, std::string>> learn_units(std::span<const TextPair> pairs,
                                                             const TrainPiecesOptions& options,
                                                             size_t max_tokens);

/// Sources and targets as tokens, each with its end token.
struct PairSet {
  std::vector<std::vector<int32_t>> sources, targets;
  TextCounts counts;  ///< sums over all texts

  size_t size() const { return sources.size(); }
  size_t tokens(size_t pair) const { return sources[pair].size() + targets[pair].size(); }
  /// Two sets of one hash train alike.
  uint64_t hash() const;
  /// Pairs order[..] as a batch.
  void fill(std::span<const uint32_t> order, training::TrainingBatch& batch) const;
};

/// Throws Error(data) that names the record with more than `max_tokens` tokens.
PairSet encode_pairs(std::span<const TextPair> pairs, const PairFiles& from,
                     const TranslationTokenizers& tokenizers, size_t max_tokens);

}  // namespace bert
