#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encoding.h"

namespace bert {

/// Counts the texts that a model cannot learn from as they were meant, by the rule of the tools
/// that read records: those with bytes that are not UTF-8, and those with more unknown tokens than
/// known ones.
class TextCounts {
 public:
  /// Tokens of the text at hand, or of one of its two.
  void add(const Encoding& encoding, int32_t unk_id);
  void add_invalid() { replaced_ = true; }
  /// The text at hand is whole.
  void end_text();

  /// A line for each fault that occurs; `texts` is what they are called: "training texts".
  std::vector<std::string> lines(std::string_view texts) const;

 private:
  struct Fault {
    uint64_t count = 0, first = 0;  ///< first: the text's number from 1
    void add(uint64_t number) {
      if (count++ == 0) first = number;
    }
  };
  uint64_t texts_ = 0;
  Fault invalid_utf8_, unknown_;
  // of the text at hand:
  bool replaced_ = false;
  size_t tokens_[2] = {}, unknown_tokens_[2] = {};
};

}  // namespace bert
