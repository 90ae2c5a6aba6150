#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/normal_text.h"
#include "tokenizer/piece.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/vocab.h"

namespace bert {

/// Pieces of a sentencepiece model whose ids are those of their spellings in a vocabulary of
/// another order, as Marian has it: one vocab.json for the pieces of two models. What the model
/// does not know is looked up too, and is unknown only then.
///
/// A text may begin with the code of a language, ">>", anything, "<<", which is one token.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class NamedPieces {
 public:
  struct Scratch {
    NormalText raw, text;
    std::vector<Subword> subwords;
    int32_t next_word = 0;
    size_t replaced = 0;
  };

  /// Borrows the vocabulary.
  NamedPieces(std::shared_ptr<const SentencePiece> model, const Vocab& vocab, int32_t unk_id);

  void start(Scratch& scratch) const {
    scratch.next_word = 0;
    scratch.replaced = 0;
  }
  /// The pieces of text[begin, end). A word begins at each piece with a blank's mark.
  void run(std::string_view text, size_t begin, size_t end, Scratch& scratch,
           PieceBuffer& out) const;
  /// The text of tokens, special ones as they are spelt, a blank behind each.
  struct Token {
    std::string_view text;
    bool special = false;
  };
  std::string decode(std::span<const Token> tokens) const;

 private:
  int32_t named(std::string_view piece) const;

  std::shared_ptr<const SentencePiece> model_;
  const Vocab& vocab_;
  int32_t unk_id_;
  std::vector<int32_t> ids_;  ///< [pieces of the model] in the vocabulary
};

}  // namespace bert
