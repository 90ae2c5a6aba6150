#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "tokenizer/encoding.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// What becomes of a chosen token (Devlin et al. 2019, 3.1, task 1).
enum class MaskKind : uint8_t {
  mask,    ///< [MASK] stands for it
  random,  ///< another token of the vocabulary stands for it
  keep,    ///< it stays, and is to be predicted all the same
};
BERT_API std::string_view mask_kind_name(MaskKind kind);

/// The corruption of the paper, with the names of transformers' collator.
struct MaskingOptions {
  double mlm_probability = 0.15;     ///< a token (or word) is chosen
  double mask_replace_prob = 0.8;    ///< share of the chosen that becomes [MASK]
  double random_replace_prob = 0.1;  ///< share that becomes a random token; the rest is kept
  bool whole_word = false;           ///< one draw for all pieces of a word
  uint64_t seed = 12345;
};

/// A chosen token of an encoding.
struct MaskedToken {
  size_t position = 0;  ///< in the encoding
  MaskKind kind = MaskKind::mask;
  int32_t original = 0;
  int32_t corrupted = 0;
};

/// Chooses tokens for masked-LM training. What happens to the token at `position` of a record is a
/// function of (seed, record, position) alone: no order, chunk, thread or shard enters into it.
///
/// Thread rule: const after construction.
class BERT_API Masking {
 public:
  /// Throws Error(data) if the vocabulary has no mask token, Error(usage) if a rate is no
  /// probability.
  Masking(const Tokenizer& tokenizer, const MaskingOptions& options);

  /// Whether a token may be chosen: not added, and no special token but [UNK].
  bool eligible(const Encoding& encoding, size_t position) const;
  /// The chosen tokens in order; `out` is cleared. `record` is fnv1a() or any number of the
  /// record's own. Positions count from the encoding's first token of the text.
  void choose(const Encoding& encoding, uint64_t record, std::vector<MaskedToken>& out) const;
  /// encoding.input_ids with the chosen tokens replaced.
  static void corrupt(std::span<const MaskedToken> chosen, std::span<int32_t> input_ids);

 private:
  MaskedToken draw_kind(const Encoding& encoding, size_t position, uint32_t kind_word,
                        uint64_t record) const;
  std::array<uint32_t, 4> draw(uint64_t record, size_t position) const;

  const Tokenizer& tokenizer_;
  MaskingOptions options_;
  std::vector<int32_t> replacements_;  ///< ids that may stand for a token at random
};

}  // namespace bert
