#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>

namespace bert {

size_t to_lower(char32_t c, char32_t out[2]) {
  using namespace unicode_tables;
  out[0] = c;
  if (!(char_class(c) & kCharLowers)) return 1;
  const auto code = static_cast<int32_t>(c);
  const LowerRange* range =
      std::lower_bound(kLower, kLower + kLowerSize, code,
                       [](const LowerRange& r, int32_t value) { return r.last < value; });
  out[0] = static_cast<char32_t>(code + range->delta);
  if (c != 0x130) return 1;
  out[1] = 0x307;  // I with dot above is the only letter whose lower case is two code points
  return 2;
}

std::string folded(std::string_view name) {
  std::string text;
  for (size_t i = 0; i < name.size();) {
    const DecodedChar c = decode_utf8(name, i);
    i += c.length;
    if (char_class(c.code_point) & (kCharWhite | kCharRemoved)) continue;
    char32_t lower[2];
    char bytes[4];
    const size_t count = to_lower(c.code_point, lower);
    for (size_t k = 0; k < count; ++k) text.append(bytes, encode_utf8(lower[k], bytes));
  }
  return text;
}

// Decompositions and combining classes of assigned characters never change (Unicode stability
// policy), so utf8proc agrees with the reference on each character that the reference knows.
// make_unicode_tables.py checks it.

size_t decompose(char32_t c, char32_t out[4]) {
  out[0] = c;
  if (!(char_class(c) & kCharDecomposes)) return 1;
  utf8proc_int32_t parts[8];
  int boundclass = 0;
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 8,
                                         UTF8PROC_DECOMPOSE, &boundclass);
  if (n < 1 || n > 4) return 1;
  for (utf8proc_ssize_t i = 0; i < n; ++i) out[i] = static_cast<char32_t>(parts[i]);
  return static_cast<size_t>(n);
}

size_t decompose_compatible(char32_t c, char32_t out[18]) {
  if (!(char_class(c) & kCharCompatible)) return decompose(c, out);
  utf8proc_int32_t parts[32];
  int boundclass = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  const auto n =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 32, options, &boundclass);
  if (n < 1 || n > 18) return decompose(c, out);
  for (utf8proc_ssize_t i = 0; i < n; ++i) out[i] = static_cast<char32_t>(parts[i]);
  return static_cast<size_t>(n);
}

char32_t compose(char32_t first, char32_t second) {
  constexpr char32_t kL = 0x1100, kV = 0x1161, kT = 0x11A7, kS = 0xAC00;  // Hangul: L V, LV T
  constexpr char32_t kLs = 19, kVs = 21, kTs = 28;
  if (first >= kL && first < kL + kLs && second >= kV && second < kV + kVs) {
    return kS + ((first - kL) * kVs + (second - kV)) * kTs;
  }
  if (first >= kS && first < kS + kLs * kVs * kTs && (first - kS) % kTs == 0 && second > kT &&
      second < kT + kTs) {
    return first + (second - kT);
  }
  using namespace unicode_tables;
  const Composition wanted{static_cast<int32_t>(first), static_cast<int32_t>(second), 0};
  const Composition* end = kCompositions + kCompositionsSize;
  const Composition* found =
      std::lower_bound(kCompositions, end, wanted, [](const Composition& a, const Composition& b) {
        return a.first != b.first ? a.first < b.first : a.second < b.second;
      });
  const bool equal = found != end && found->first == wanted.first && found->second == wanted.second;
  return equal ? static_cast<char32_t>(found->composite) : 0;
}

uint8_t combining_class(char32_t c) {
  if (!(char_class(c) & kCharCombining)) return 0;
  return static_cast<uint8_t>(
      utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
}

size_t encode_utf8(char32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t k = n - 1; k > 0; --k, c >>= 6) out[k] = static_cast<char>(0x80 | (c & 0x3F));
  static constexpr unsigned kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  out[0] = static_cast<char>(kLead[n] | c);
  return n;
}

size_t count_code_points(std::string_view text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); ++n) i += utf8_step(text, i).length;
  return n;
}

char32_t char_before(std::string_view text, size_t i) {
  size_t begin = i - 1;
  while (begin > 0 && i - begin < 4 && (text[begin] & 0xC0) == 0x80) --begin;
  return decode_utf8(text, begin).code_point;
}

bool is_unspaced(char32_t c) {
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return (char_class(c) & kCharCjk) || in(0x0E00, 0x0EFF) ||  // Chinese; Thai and Lao
         in(0x1000, 0x109F) || in(0x1780, 0x17FF) ||          // Burmese, Khmer
         in(0x3005, 0x3007) || in(0x3040, 0x30FF) ||          // iteration mark; kana
         in(0x3100, 0x312F) || in(0x31F0, 0x31FF) || in(0xFF66, 0xFF9F);
}

void include_marks(std::string_view text, size_t& begin, size_t& end) {
  const auto is_mark = [&](size_t i) {
    return char_class(decode_utf8(text, i).code_point) & (kCharMark | kCharCombining);
  };
  while (end < text.size() && is_mark(end)) end += decode_utf8(text, end).length;
  while (begin > 0 && begin < end && is_mark(begin)) {
    --begin;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  }
}

}  // namespace bert
