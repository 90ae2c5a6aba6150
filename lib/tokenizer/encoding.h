#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bert {

/// Where a token stands in its text: bytes [begin, end) of the record's field. Special tokens that
/// the tokenizer added have begin = end = 0.
struct Offset {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Offset&) const = default;
};

/// One token of a text, before special tokens are added.
struct Piece {
  int32_t id = 0;
  Offset offset;
  int32_t word = 0;  ///< index of the word in its text
};

/// The tokens of one sequence or pair, [n] each. Reused from record to record: clear() keeps the
/// memory.
struct Encoding {
  std::vector<int32_t> input_ids;
  std::vector<int32_t>
      token_type_ids;           ///< 0: first text and its [CLS] [SEP]; 1: second text and its [SEP]
  std::vector<Offset> offsets;  ///< into the text that the token comes from
  std::vector<uint8_t>
      special_tokens_mask;        ///< 1: added by the tokenizer ([CLS], [SEP]), 0: from the text
  std::vector<int32_t> word_ids;  ///< index of the word in its text, -1 for added tokens
  size_t dropped = 0;             ///< tokens of the text that truncation removed
  size_t before = 0;              ///< tokens of the text before this window of it
  size_t replaced_bytes = 0;      ///< maximal invalid UTF-8 parts read as U+FFFD

  size_t size() const { return input_ids.size(); }
  /// Where token `i` stands in the sequence of the whole text with its special tokens, [CLS] being
  /// 0, whether or not this encoding has them, and whichever window it is.
  size_t index(size_t i) const {
    const size_t at = i + (special_tokens_mask.front() ? 0 : 1);
    const bool windowed = token_type_ids.back() == 1 ? token_type_ids[i] == 1 : at > 0;
    return at + (windowed ? before : 0);
  }
  void clear() {
    input_ids.clear();
    token_type_ids.clear();
    offsets.clear();
    special_tokens_mask.clear();
    word_ids.clear();
    dropped = 0;
    before = 0;
    replaced_bytes = 0;
  }
  void push(int32_t id, int32_t type, Offset offset, bool special, int32_t word) {
    input_ids.push_back(id);
    token_type_ids.push_back(type);
    offsets.push_back(offset);
    special_tokens_mask.push_back(special ? 1 : 0);
    word_ids.push_back(word);
  }
};

}  // namespace bert
