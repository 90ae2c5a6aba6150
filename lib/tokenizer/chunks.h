#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>

#include "base/export.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// A part of a text.
struct TextChunk {
  size_t begin = 0, end = 0;  ///< its bytes, half open
  size_t tokens = 0;          ///< tokens of the part when it is read alone, special ones included
};

struct ChunkOptions {
  size_t tokens = 256;   ///< the most that a chunk may have, special ones included
  size_t overlap = 0;    ///< the most tokens that two neighbours share
  bool literal = false;  ///< as in EncodeOptions
};

/// Cuts a text into parts that a model reads one by one. Each part is the longest from its begin on
/// that has at most `tokens` tokens and ends, by preference,
///   1. at the end of the text            2. at the end of a sentence (text/sentences.h)
///   3. behind white space, or beside a letter of a script without blanks
///   4. between two words of the tokenizer       5. between two tokens
/// and never within a grapheme cluster. So the parts cover the text, and only a cluster that has
/// more than `tokens` tokens makes a part that has more.
///
/// With `overlap` a part begins with the end of the part before it: at the first begin of a
/// sentence among the last `overlap` tokens, else at the first place of kind 3, and without overlap
/// where the part would not reach beyond the one before it.
///
/// A text without tokens has no parts. Memory holds the tokens of a few parts, whatever the text's
/// length. Thread rule: one per thread, which shares the const tokenizer.
class BERT_API Chunker {
 public:
  /// Borrows the tokenizer. Throws Error(usage) for `tokens` that leave no room beside special
  /// tokens, or an `overlap` that leaves none beside it.
  Chunker(const Tokenizer& tokenizer, const ChunkOptions& options);

  struct Totals {
    size_t tokens = 0, unknown = 0;
    size_t replaced_bytes = 0;  ///< maximal invalid UTF-8 parts read as U+FFFD
  };
  /// Calls use(chunk) for each part, in order.
  Totals cut(std::string_view text, Tokenizer::Scratch& scratch,
             const std::function<void(const TextChunk&)>& use);

 private:
  /// How well a text is cut at a place.
  enum class Rank : uint8_t { token, word, blank, sentence, text };
  struct Place {
    size_t byte;
    size_t tokens;  ///< tokens of the text before the place
    Rank rank;
  };

  void add(const Piece& piece);
  Rank rank_of(const Piece& piece, size_t byte);
  bool begins_cluster(size_t byte);
  void cut_one();
  size_t choose(size_t room) const;
  size_t choose_begin(size_t end) const;
  size_t count(size_t begin, size_t end);

  const Tokenizer& tokenizer_;
  const size_t room_, overlap_, added_;  ///< room_: without the special tokens
  const bool literal_;
  Tokenizer::Scratch alone_;

  // The text that is cut.
  std::string_view text_;
  const std::function<void(const TextChunk&)>* use_ = nullptr;
  std::deque<Place> places_;  ///< from the begin of the next chunk on
  size_t tokens_ = 0;         ///< read so far
  size_t read_ = 0;           ///< the end of the last of them
  int32_t word_ = 0;          ///< its word
  size_t covered_ = 0;        ///< the end of the last chunk
  size_t sentence_ = 0;       ///< the end of the sentence that tokens come from
  size_t cluster_ = 0;        ///< begin of a cluster, not behind the last place asked for
};

}  // namespace bert
