#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/encoding.h"
#include "tokenizer/vocab.h"

namespace bert {

/// trim_offsets of RobertaProcessing in tokenizers: white space, and U+0120 that stands for it in
/// byte-level vocabularies, does not count as part of a token. "<mask>" takes the blanks on its
/// left, and its offsets leave them out again.
///
/// Thread rule: const after construction.
class OffsetTrimmer {
 public:
  OffsetTrimmer() = default;
  /// `prefix_space`: a first token keeps its blank if it has one alone (add_prefix_space).
  OffsetTrimmer(const Vocab& vocab, std::span<const AddedToken> added, bool prefix_space);

  bool empty() const { return how_.empty(); }  ///< nothing is ever trimmed
  /// `pieces` of `text`, which begin with the first of the text if `first`.
  void trim(std::string_view text, std::span<Piece> pieces, bool first) const;

 private:
  enum class How : uint8_t {
    never,
    by_text,   ///< what stands in the text counts, white space that an added token took included
    by_piece,  ///< the piece as the vocabulary spells it counts
  };
  std::vector<How> how_;                 ///< [vocabulary], or empty
  std::vector<std::string_view> spelt_;  ///< [vocabulary], or empty: of by_piece
  bool prefix_space_ = false;
};

}  // namespace bert
