#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/encoding.h"
#include "tokenizer/parts/added_tokens.h"
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

  bool empty() const { return rules_.empty(); }  ///< nothing is ever trimmed
  /// `pieces` of `text`, which begin with the first of the text if `first`.
  void trim(std::string_view text, std::span<Piece> pieces, bool first) const;

 private:
  /// What counts as blank in a token, in code points.
  struct Rule {
    uint32_t leading = 0;
    uint32_t trailing = 0;
    /// What stands in the text counts, white space that an added token took included; else the
    /// piece as the vocabulary spells it.
    bool by_text = false;
    bool never() const { return leading + trailing == 0 && !by_text; }
  };
  static Rule rule_of(std::string_view token);

  std::vector<Rule> rules_;  ///< [vocabulary], or empty
  bool prefix_space_ = false;
};

}  // namespace bert
