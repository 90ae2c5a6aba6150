#include "tokenizer/chunks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "text/grapheme.h"
#include "text/sentences.h"
#include "text/unicode.h"
#include "tokenizer/words.h"

namespace bert {
namespace {

bool is_white(char32_t c) { return char_class(c) & (kCharSpace | kCharWhite); }

}  // namespace

Chunker::Chunker(const Tokenizer& tokenizer, const ChunkOptions& options)
    : tokenizer_(tokenizer),
      room_(options.tokens - std::min(options.tokens, tokenizer.added_tokens_single())),
      overlap_(options.overlap),
      added_(tokenizer.added_tokens_single()),
      literal_(options.literal) {
  if (room_ == 0) {
    throw Error::of_field("tokens", fmt::format("found {}, wants more than the {} special tokens",
                                                options.tokens, added_));
  }
  if (overlap_ >= room_) {
    throw Error::of_field("overlap",
                          fmt::format("found {}, wants less than the {} tokens of a chunk without "
                                      "special ones",
                                      overlap_, room_));
  }
}

Chunker::Totals Chunker::cut(std::string_view text, Tokenizer::Scratch& scratch,
                             const std::function<void(const TextChunk&)>& use) {
  text_ = text;
  use_ = &use;
  places_.assign(1, {0, 0, Rank::text});
  tokens_ = read_ = covered_ = sentence_ = cluster_ = 0;
  Totals totals;
  totals.replaced_bytes =
      tokenizer_.for_each_piece(text, literal_, scratch, [&](std::span<const Piece> pieces) {
        for (const Piece& piece : pieces) {
          totals.unknown += piece.id == tokenizer_.unk_id();
          add(piece);
        }
        return true;
      });
  totals.tokens = tokens_;
  if (tokens_ == 0) return totals;
  places_.push_back({text.size(), tokens_, Rank::text});
  while (covered_ < text.size()) cut_one();
  return totals;
}

/// The place before a token, if the text may be cut there. White space goes with what is before it.
void Chunker::add(const Piece& piece) {
  const size_t byte = without_blank(text_, piece.offset).begin;
  if (byte >= read_ && byte > places_.back().byte && tokens_ > 0 && begins_cluster(byte)) {
    places_.push_back({byte, tokens_, rank_of(piece, byte)});
    while (tokens_ - places_.front().tokens > room_) cut_one();
  }
  read_ = std::max<size_t>(read_, piece.offset.end);
  word_ = piece.word;
  ++tokens_;
}

/// Of the place before a token, behind the one that ends at read_.
Chunker::Rank Chunker::rank_of(const Piece& piece, size_t byte) {
  while (sentence_ < byte && sentence_ < std::max<size_t>(read_, 1)) {
    sentence_ = sentence_end(text_, sentence_);
  }
  const char32_t next = decode_utf8(text_, byte).code_point, last = char_before(text_, byte);
  if (is_white(next)) return Rank::token;  // white space that is a token
  if (sentence_ <= byte) return Rank::sentence;
  if (is_white(last) || is_unspaced(last) || is_unspaced(next)) return Rank::blank;
  return piece.word != word_ ? Rank::word : Rank::token;
}

bool Chunker::begins_cluster(size_t byte) {
  const auto is_plain = [&](size_t i) { return text_[i] >= ' ' && text_[i] < 0x7F; };
  if (is_plain(byte - 1) && is_plain(byte)) {
    cluster_ = byte;
    return true;
  }
  while (cluster_ < byte) cluster_ = grapheme_end(text_, cluster_);
  return cluster_ == byte;
}

/// Gives the first chunk from places_ on, and forgets what is before the begin of the next.
void Chunker::cut_one() {
  size_t end = 0, alone = 0;
  for (size_t room = room_; end == 0;) {
    end = choose(room);
    if (end == 0) {  // the chunk would end where the last one does: less of it is read again
      places_.pop_front();
      room = room_;
      continue;
    }
    alone = count(places_.front().byte, places_[end].byte);
    const size_t tokens = places_[end].tokens - places_.front().tokens;
    const bool shortest = places_[end - 1].byte <= covered_;
    if (alone <= room_ || (shortest && places_.front().byte == covered_)) break;
    // Tokens depend on what is before them, so the part has more when it is read alone.
    room = shortest ? 0 : tokens - 1;
    end = 0;
  }
  covered_ = places_[end].byte;
  (*use_)({places_.front().byte, covered_, alone + added_});
  const size_t next = covered_ == text_.size() ? end : choose_begin(end);
  places_.erase(places_.begin(), places_.begin() + static_cast<ptrdiff_t>(next));
}

/// The index of the place where a chunk with room for `room` tokens ends; 0 if it would not reach
/// beyond the one before it.
size_t Chunker::choose(size_t room) const {
  size_t best = 0;
  for (size_t i = 1; i < places_.size(); ++i) {
    if (places_[i].byte <= covered_) continue;
    if (places_[i].tokens - places_.front().tokens > room) break;
    if (best == 0 || places_[i].rank >= places_[best].rank) best = i;
  }
  // What cannot be cut is longer than a chunk.
  return best == 0 && places_.front().byte == covered_ ? 1 : best;
}

/// The index of the place where the chunk after one that ends at places_[end] begins.
size_t Chunker::choose_begin(size_t end) const {
  size_t best = end;
  for (size_t i = end; i-- > 1 && places_[end].tokens - places_[i].tokens <= overlap_;) {
    if (places_[i].rank < Rank::blank) continue;
    if (best == end || places_[i].rank >= places_[best].rank) best = i;
  }
  return best;
}

/// The tokens of a part that is read alone.
size_t Chunker::count(size_t begin, size_t end) {
  size_t tokens = 0;
  tokenizer_.for_each_piece(text_.substr(begin, end - begin), literal_, alone_,
                            [&](std::span<const Piece> pieces) {
                              tokens += pieces.size();
                              return true;
                            });
  return tokens;
}

}  // namespace bert
