#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/normal_text.h"

namespace bert {

/// The replacements of characters that sentencepiece compiles into a model
/// (`precompiled_charsmap`).
///
/// Thread rule: const after construction.
class Charsmap {
 public:
  /// Which entries apply. They differ in letters with marks.
  enum class Rule {
    clusters,  ///< tokenizers' Precompiled: a grapheme cluster of less than 6 bytes is looked up
               ///< whole and by its shortest entry, and what follows the entry in it goes away;
               ///< else each code point is looked up alone
    longest,   ///< sentencepiece: the longest entry at each place
  };

  /// `bytes`: the length of a double-array trie in bytes (4 bytes, little-endian), the trie (Darts,
  /// Yata et al. 2007), the replacements, each ended by a zero byte. Throws Error(data), which
  /// names the file `where`, if any index in the trie points outside it or into the middle of a
  /// character.
  Charsmap(std::string_view bytes, std::string_view where, Rule rule = Rule::clusters);
  /// The same from the base64 of a tokenizer.json.
  static Charsmap from_base64(std::string_view text, std::string_view where);

  /// False if no entry applies; `out` is not changed then. Else `out` is the text after it, with
  /// the reference's alignment. `in` and `out` are two objects.
  bool normalize(const NormalText& in, NormalText& out) const;

  /// An entry that a text begins with, by its key's length; 0: there is none.
  struct Match {
    size_t length = 0;
    std::string_view replacement;
  };
  Match longest(std::string_view text) const;

 private:
  class Writer;

  void check(std::string_view where) const;
  Match find(std::string_view text, bool longest) const;
  size_t next_cluster(std::string_view text, size_t i, Writer& writer) const;

  Rule rule_;

  std::vector<uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> changes_ascii_{};  ///< an entry begins with this character
};

}  // namespace bert
