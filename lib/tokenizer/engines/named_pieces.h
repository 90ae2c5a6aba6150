#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/normal_text.h"
#include "tokenizer/engine.h"
#include "tokenizer/models/sentencepiece.h"
#include "tokenizer/parts/token_decoder.h"
#include "tokenizer/piece.h"
#include "tokenizer/vocab.h"

namespace bert {

/// Pieces of a sentencepiece model whose ids are those of their spellings in a vocabulary of
/// another order, as Marian has it: one vocab.json for the pieces of two models. What the model
/// does not know is looked up too, and is unknown only then.
///
/// With `codes`, a text may begin with the code of a language, ">>", anything, "<<", which is one
/// token.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class NamedPieces final : public Engine {
 public:
  struct Scratch final : Engine::Scratch {
    NormalText raw, text;
    std::vector<Subword> subwords;
  };

  /// Borrows the vocabulary.
  NamedPieces(std::shared_ptr<const SentencePiece> model, const Vocab& vocab, int32_t unk_id,
              bool codes);

  std::unique_ptr<Engine::Scratch> make_scratch() const override;
  /// A word begins at each piece with a blank's mark.
  void run(std::string_view text, size_t begin, size_t end, bool literal, Engine::Scratch& scratch,
           PieceBuffer& out) const override;

 private:
  int32_t named(std::string_view piece) const;

  std::shared_ptr<const SentencePiece> model_;
  const Vocab& vocab_;
  int32_t unk_id_;
  bool codes_;
  std::vector<int32_t> ids_;  ///< [pieces of the model] in the vocabulary
};

/// Pieces of a sentencepiece model to text; special tokens as they are spelt, a blank behind each.
class NamedPiecesDecoder final : public Decoder {
 public:
  explicit NamedPiecesDecoder(std::shared_ptr<const SentencePiece> model)
      : model_(std::move(model)) {}

  std::string decode(std::span<const Token> tokens) const override;

 private:
  std::shared_ptr<const SentencePiece> model_;
};

}  // namespace bert
