#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/parts/tokenizer_parts.h"

namespace bert {

/// Tokens -> text.
///
/// Thread rule: const.
class Decoder {
 public:
  struct Token {
    std::string_view text;
    bool special = false;
  };

  virtual ~Decoder() = default;
  virtual std::string decode(std::span<const Token> tokens) const = 0;
};

/// The decoder of a tokenizer.json, equal to tokenizers 0.23.
class PartsDecoder final : public Decoder {
 public:
  /// `joins`: a blank between two tokens.
  PartsDecoder(std::vector<DecoderPart> parts, bool joins)
      : parts_(std::move(parts)), joins_(joins) {}

  std::string decode(std::span<const Token> tokens) const override;

 private:
  std::vector<DecoderPart> parts_;
  bool joins_;
};

}  // namespace bert
