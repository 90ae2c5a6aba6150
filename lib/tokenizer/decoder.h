#pragma once

#include <string>
#include <vector>

#include "tokenizer/tokenizer_parts.h"

namespace bert {

/// The decoder of a tokenizer.json: tokens -> text, equal to tokenizers 0.23.
///
/// Thread rule: const.
class Decoder {
 public:
  Decoder() = default;  ///< puts a blank between two tokens
  explicit Decoder(std::vector<DecoderPart> parts) : parts_(std::move(parts)), joins_(false) {}

  std::string decode(std::vector<std::string> tokens) const;

 private:
  std::vector<DecoderPart> parts_;
  bool joins_ = true;
};

}  // namespace bert
