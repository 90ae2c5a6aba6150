#include "predict/name_words.h"

#include "text/unicode.h"

namespace bert {
namespace {

/// Python's \w
bool is_word(char32_t c) { return c == U'_' || (char_class(c) & (kCharLetter | kCharNumber)) != 0; }

/// Python's \s
bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

/// The byte behind the \w that begin at `i`.
size_t end_of_word(std::string_view text, size_t i) {
  while (i < text.size()) {
    const DecodedChar c = decode_utf8(text, i);
    if (!is_word(c.code_point)) break;
    i += c.length;
  }
  return i;
}

}  // namespace

void split_name_words(std::string_view text, std::vector<Offset>& words) {
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    size_t end = end_of_word(text, i);
    if (end == i) {
      end = i + c.length;
    } else {
      while (end < text.size() && text[end] == '-') {
        const size_t next = end_of_word(text, end + 1);
        if (next == end + 1) break;
        end = next;
      }
    }
    if (!is_space(c.code_point)) {
      words.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(end)});
    }
    i = end;
  }
}

}  // namespace bert
