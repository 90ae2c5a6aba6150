#include "tokenizer/offset_trimmer.h"

#include <algorithm>

#include "text/unicode.h"

namespace bert {
namespace {

constexpr char32_t kByteLevelBlank = 0x120;

bool counts_as_blank(char32_t c) {
  return c == kByteLevelBlank || (char_class(c) & kCharWhite) != 0;
}

struct Blanks {
  size_t leading = 0, trailing = 0;  ///< code points
};

Blanks blanks_of(std::string_view token) {
  Blanks blanks;
  size_t count = 0;
  for (size_t i = 0; i < token.size(); ++count) {
    const DecodedChar c = decode_utf8(token, i);
    i += c.length;
    const bool blank = c.valid && counts_as_blank(c.code_point);
    if (blank && blanks.leading == count) ++blanks.leading;
    blanks.trailing = blank ? blanks.trailing + 1 : 0;
  }
  return blanks;
}

}  // namespace

OffsetTrimmer::OffsetTrimmer(const Vocab& vocab, std::span<const AddedToken> added,
                             bool prefix_space)
    : prefix_space_(prefix_space) {
  std::vector<How> how(vocab.size(), How::never);
  for (size_t id = 0; id < vocab.pieces(); ++id) {
    const Blanks blanks = blanks_of(vocab.text(static_cast<int32_t>(id)));
    if (blanks.leading + blanks.trailing > 0) how[id] = How::by_piece;
  }
  for (const AddedToken& token : added) {
    const Blanks blanks = blanks_of(token.content);
    if (token.lstrip || token.rstrip || blanks.leading + blanks.trailing > 0) {
      how[static_cast<size_t>(token.id)] = How::by_text;
    }
  }
  if (std::all_of(how.begin(), how.end(), [](How h) { return h == How::never; })) return;
  how_ = std::move(how);
  spelt_.resize(how_.size());
  for (size_t id = 0; id < how_.size(); ++id) spelt_[id] = vocab.text(static_cast<int32_t>(id));
}

void OffsetTrimmer::trim(std::string_view text, std::span<Piece> pieces, bool first) const {
  for (Piece& piece : pieces) {
    const auto id = static_cast<size_t>(piece.id);
    const bool keeps_one = prefix_space_ && (first || piece.offset.begin == 0);
    first = false;
    if (how_[id] == How::never) continue;
    const std::string_view part =
        text.substr(piece.offset.begin, piece.offset.end - piece.offset.begin);
    Blanks blanks = blanks_of(how_[id] == How::by_text ? part : spelt_[id]);
    if (blanks.leading == 1 && keeps_one) blanks.leading = 0;
    uint32_t begin = 0;
    for (; blanks.leading > 0 && begin < part.size(); --blanks.leading) {
      begin += decode_utf8(part, begin).length;
    }
    auto end = static_cast<uint32_t>(part.size());
    for (; blanks.trailing > 0 && end > begin; --blanks.trailing) {
      do {
        --end;
      } while (end > begin && (part[end] & 0xC0) == 0x80);
    }
    piece.offset = {piece.offset.begin + begin, piece.offset.begin + end};
  }
}

}  // namespace bert
