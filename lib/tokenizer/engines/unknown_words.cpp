#include "tokenizer/engines/unknown_words.h"

#include "text/unicode.h"

namespace bert {
namespace {

/// White space of Python: that of Unicode, and four control characters.
bool separates(char32_t c) { return (char_class(c) & kCharWhite) || (c >= 0x1C && c <= 0x1F); }

}  // namespace

void UnknownWords::run(std::string_view whole, size_t begin, size_t end, bool /*literal*/,
                       Scratch& scratch, PieceBuffer& out) const {
  const std::string_view text = whole.substr(0, end);
  size_t word = begin;  // where the word begins that text[i] may go on with
  const auto end_word = [&](size_t i) {
    if (word == i) return;
    out.push(
        {unk_id_, {static_cast<uint32_t>(word), static_cast<uint32_t>(i)}, scratch.next_word++});
    out.flush_if_full();
  };
  for (size_t i = begin; i < end && !out.stopped();) {
    const DecodedChar c = decode_utf8(text, i);
    scratch.replaced += c.valid ? 0 : 1;
    if (separates(c.code_point)) {
      end_word(i);
      word = i + c.length;
    }
    i += c.length;
  }
  if (!out.stopped()) end_word(end);
}

}  // namespace bert
