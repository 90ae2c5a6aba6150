#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizer/engine.h"
#include "tokenizer/models/piece_trie.h"
#include "tokenizer/piece.h"
#include "tokenizer/vocab.h"

namespace bert {

/// Words by a dictionary: from left to right, at each place the longest entry that the text goes on
/// with ("maximum matching"). Letters and digits of scripts that write blanks between words are not
/// torn apart: an entry does not begin or end inside a run of them. What no entry begins at is one
/// word: such a run, or one character. White space and control characters separate words.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class DictionaryWords final : public Engine {
 public:
  static constexpr int32_t kUnknown = -1;  ///< id of a word that is no entry

  /// The entries of `vocab`, closed; their ids are those of the words.
  explicit DictionaryWords(const Vocab& vocab);

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  /// Each word has the bytes that it has in the text.
  void run(std::string_view text, size_t begin, size_t end, bool literal, Scratch& scratch,
           PieceBuffer& out) const override;

 private:
  size_t longest(std::string_view text, size_t i, int32_t& id) const;

  PieceTrie entries_;
};

/// One entry a line, its text up to a TAB, without white space around it; ids are line numbers,
/// from 0. An entry may have blanks inside. Throws Error (no_input, data) naming the file and line.
Vocab read_dictionary(const std::string& path);

}  // namespace bert
