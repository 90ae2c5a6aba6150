#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizer/piece.h"
#include "tokenizer/piece_trie.h"
#include "tokenizer/vocab.h"

namespace bert {

/// Words by a dictionary: from left to right, at each place the longest entry that the text goes on
/// with ("maximum matching"). Letters and digits of scripts that write blanks between words are not
/// torn apart: an entry does not begin or end inside a run of them. What no entry begins at is one
/// word: such a run, or one character. White space and control characters separate words.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class DictionaryWords {
 public:
  static constexpr int32_t kUnknown = -1;  ///< id of a word that is no entry

  struct Scratch {
    int32_t next_word = 0;
    size_t replaced = 0;
  };

  /// The entries of `vocab`, closed; their ids are those of the words.
  explicit DictionaryWords(const Vocab& vocab);

  void start(Scratch& scratch) const { scratch = {}; }
  /// The words of text[begin, end), each with the bytes that it has there.
  void run(std::string_view text, size_t begin, size_t end, Scratch& scratch,
           PieceBuffer& out) const;

 private:
  size_t longest(std::string_view text, size_t i, int32_t& id) const;

  PieceTrie entries_;
};

/// One entry a line, its text up to a TAB, without white space around it; ids are line numbers,
/// from 0. An entry may have blanks inside. Throws Error (no_input, data) naming the file and line.
Vocab read_dictionary(const std::string& path);

}  // namespace bert
