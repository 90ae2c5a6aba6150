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

/// What the tokenizer added around the texts has this sequence id.
inline constexpr int8_t kSpecialToken = -1;

/// The tokens of one sequence or pair, [n] each. Reused from record to record: clear() keeps the
/// memory.
struct Encoding {
  /// Tokens [begin, end).
  struct Range {
    size_t begin = 0;
    size_t end = 0;
    size_t size() const { return end - begin; }
  };

  std::vector<int32_t> input_ids;
  std::vector<int32_t> token_type_ids;  ///< what the model adds an embedding for; see Frame
  std::vector<Offset> offsets;          ///< into the text that the token comes from
  std::vector<int8_t> sequence_ids;     ///< 0: first text, 1: second text, -1: special token
  std::vector<int32_t> word_ids;        ///< index of the word in its text, -1 for added tokens
  size_t dropped = 0;                   ///< tokens of the text that truncation removed
  size_t before = 0;                    ///< tokens of the text before this window of it
  size_t window_begin = 0;              ///< where the text begins that is read in windows: the last
  size_t omitted = 0;         ///< special tokens before the text that this encoding goes without
  size_t replaced_bytes = 0;  ///< maximal invalid UTF-8 parts read as U+FFFD

  size_t size() const { return input_ids.size(); }
  /// Whether the tokenizer added token `i`: [CLS], [SEP]. One that is typed in the text is not.
  bool is_added(size_t i) const { return sequence_ids[i] == kSpecialToken; }
  /// The tokens of a text, 0 or 1: they stand together. Empty, at the end, if there are none.
  Range range(int8_t sequence) const {
    size_t begin = 0;
    while (begin < size() && sequence_ids[begin] != sequence) ++begin;
    size_t end = begin;
    while (end < size() && sequence_ids[end] == sequence) ++end;
    return {begin, end};
  }
  /// Where token `i` stands in the sequence of the whole text with its special tokens, the first of
  /// these being 0, whether or not this encoding has them, and whichever window it is.
  size_t index(size_t i) const { return i + omitted + (i >= window_begin ? before : 0); }
  void clear() {
    input_ids.clear();
    token_type_ids.clear();
    offsets.clear();
    sequence_ids.clear();
    word_ids.clear();
    dropped = before = window_begin = omitted = replaced_bytes = 0;
  }
  void push(int32_t id, int32_t type, Offset offset, int8_t sequence, int32_t word) {
    input_ids.push_back(id);
    token_type_ids.push_back(type);
    offsets.push_back(offset);
    sequence_ids.push_back(sequence);
    word_ids.push_back(word);
  }
};

}  // namespace bert
