#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "tokenizer/engine.h"
#include "tokenizer/piece.h"

namespace bert {

/// Splits the text between added tokens, where all that the vocabulary lists is an added token: at
/// white space, as Python's str.split() does. Each such word is the unknown token.
///
/// Thread rule: const after construction.
class UnknownWords final : public Engine {
 public:
  explicit UnknownWords(int32_t unk_id) : unk_id_(unk_id) {}

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  void run(std::string_view text, size_t begin, size_t end, bool literal, Scratch& scratch,
           PieceBuffer& out) const override;

 private:
  int32_t unk_id_;
};

}  // namespace bert
