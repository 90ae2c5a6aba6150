#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "tokenizer/encoding.h"

namespace bert {

/// Counts texts that have bytes that are not UTF-8, and texts that have more unknown tokens than
/// known ones. The tools that read records count by the same rule.
class BERT_API TextCounts {
 public:
  /// Adds tokens to the current text. The tokens of a pair are counted for each of its two texts.
  void add(const Encoding& encoding, int32_t unk_id);
  void add_invalid() { replaced_ = true; }
  /// Ends the current text and counts it.
  void end_text();

  /// One line for each fault that occurs. `texts` is the noun in it: "training texts".
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
  // The current text:
  bool replaced_ = false;
  size_t tokens_[2] = {}, unknown_tokens_[2] = {};
};

}  // namespace bert
