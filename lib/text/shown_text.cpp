#include "text/shown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "text/unicode.h"

namespace bert {
namespace {

struct Range {
  char32_t first, last;
};

/// Wide characters (UAX 11: W and F), in a few ranges that hold others only where none is assigned.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},
    {0x26A1, 0x26A1},   {0x26BD, 0x26BE},   {0x2705, 0x2705},   {0x274C, 0x274C},
    {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},   {0x2B50, 0x2B50},
    {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0xA4CF},
    {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF},
    {0x1B000, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A},
    {0x1F200, 0x1F320}, {0x1F32D, 0x1F5FF}, {0x1F600, 0x1F64F}, {0x1F680, 0x1F6FF},
    {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

size_t columns_of(char32_t c) {
  if (char_class(c) & kCharAnyMark) return 0;
  const bool wide = std::any_of(std::begin(kWide), std::end(kWide), [c](const Range& range) {
    return c >= range.first && c <= range.last;
  });
  return wide ? 2 : 1;
}

/// What has no look of its own but changes that of others; the ends of lines and paragraphs, and
/// what XML cannot have.
bool is_hidden(char32_t c) {
  if (c == 0x2028 || c == 0x2029 || (c & 0xFFFE) == 0xFFFE) return true;
  return c != kReplacement && (char_class(c) & kCharRemoved) != 0;
}

}  // namespace

std::string shown_text(std::string_view text) {
  std::string out;
  bool blank = true;
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    const std::string_view bytes = text.substr(i, c.length);
    i += c.length;
    blank = blank && (char_class(c.code_point) & kCharWhite) != 0;
    if (!c.valid || c.code_point < 0xA0) {
      out += printable(bytes, 0);
    } else if (is_hidden(c.code_point)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<uint32_t>(c.code_point));
    } else {
      out += bytes;
    }
  }
  return blank ? "␣" : out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    width += columns_of(c.code_point);
    i += c.length;
  }
  return width;
}

std::string cut_to(std::string_view text, size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  size_t width = 0, end = 0;
  while (end < text.size()) {
    const DecodedChar c = decode_utf8(text, end);
    const size_t more = columns_of(c.code_point);
    if (width + more + 1 > columns) break;
    width += more;
    end += c.length;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace bert
