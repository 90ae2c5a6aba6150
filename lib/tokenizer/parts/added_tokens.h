#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bert {

/// A token that is looked for in the text before it is split in words (AddedToken of the
/// reference).
struct AddedToken {
  std::string content;
  bool single_word = false;  ///< only where no letter or digit is beside it
  bool lstrip = false;       ///< takes the white space on its left
  bool rstrip = false;       ///< and on its right
  bool normalized = true;    ///< looked for in the normalised text
  bool special = false;
  int32_t id = -1;
};

/// Finds added tokens: at the leftmost place where one begins, the longest.
class AddedTokenMatcher {
 public:
  struct Match {
    size_t begin;
    size_t end;
    const AddedToken* token;
  };

  /// `pattern` is what stands for `token` in the text; of equal ones the first counts. The token
  /// must outlive the matcher. finish() comes after the last one.
  void add(std::string pattern, const AddedToken& token);
  void finish();
  bool empty() const { return patterns_.empty(); }
  /// Whether no match has a blank in it or behind it: a text may be cut before a single blank.
  bool stays_between_blanks() const;

  /// Goes through the matches in `text`, their white space included, in order. `from` is where to
  /// look and `taken` how far the last match reached; both begin at 0. False if there is no more.
  /// `literal` passes over special tokens.
  bool next(std::string_view text, bool literal, size_t& from, size_t& taken, Match& match) const;

 private:
  struct Pattern {
    std::string text;
    const AddedToken* token;
  };
  const Pattern* find(std::string_view text, size_t from, size_t& at) const;

  std::vector<Pattern> patterns_;  ///< by first byte, then the longest first
  std::array<uint32_t, 257>
      by_first_{};       ///< patterns_[by_first_[b], by_first_[b + 1]) begin with byte b
  int only_first_ = -1;  ///< the first byte of all patterns, if they share one
};

}  // namespace bert
