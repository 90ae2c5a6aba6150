#include "tokenizer/parts/byte_level.h"

#include "text/unicode.h"

namespace bert {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr auto kChars = [] {
  std::array<char32_t, 256> chars{};
  char32_t next = 256;
  for (unsigned b = 0; b < 256; ++b) chars[b] = stands_for_itself(b) ? b : next++;
  return chars;
}();

constexpr auto kBytes = [] {
  std::array<int16_t, 512> bytes{};
  for (auto& b : bytes) b = -1;
  for (unsigned b = 0; b < 256; ++b) bytes[kChars[b]] = static_cast<int16_t>(b);
  return bytes;
}();

enum class Kind { letter, number, white, other };

Kind kind_of(char32_t c) {
  const unsigned kind = char_class(c);
  return kind & kCharLetter   ? Kind::letter
         : kind & kCharNumber ? Kind::number
         : kind & kCharWhite  ? Kind::white
                              : Kind::other;
}

/// Where the characters of one kind end that begin at text[i).
size_t run_end(std::string_view text, size_t i, Kind kind) {
  while (i < text.size()) {
    const DecodedChar c = decode_utf8(text, i);
    if (kind_of(c.code_point) != kind) break;
    i += c.length;
  }
  return i;
}

/// Length of 's 't 're 've 'm 'll 'd at text[i), which is an apostrophe; 0: none of them.
size_t contraction(std::string_view text, size_t i) {
  for (const std::string_view end : {"s", "t", "re", "ve", "m", "ll", "d"}) {
    if (text.substr(i + 1).starts_with(end)) return end.size() + 1;
  }
  return 0;
}

}  // namespace

char32_t byte_level_char(unsigned char byte) { return kChars[byte]; }

int byte_level_byte(char32_t c) { return c < kBytes.size() ? kBytes[c] : -1; }

void append_byte_level(std::string_view text, std::string& out) {
  for (const char byte : text) {
    char bytes[4];
    out.append(bytes, encode_utf8(byte_level_char(static_cast<unsigned char>(byte)), bytes));
  }
}

void append_byte_level_bytes(std::string_view token, std::string& out) {
  const size_t before = out.size();
  for (size_t i = 0; i < token.size();) {
    const DecodedChar c = decode_utf8(token, i);
    const int byte = byte_level_byte(c.code_point);
    if (byte < 0) {
      out.resize(before);
      out += token;
      return;
    }
    out.push_back(static_cast<char>(byte));
    i += c.length;
  }
}

size_t byte_level_word_end(std::string_view text, size_t begin, bool behind_blank) {
  const DecodedChar first = decode_utf8(text, begin);
  if (first.code_point == '\'' && !behind_blank) {
    if (const size_t n = contraction(text, begin)) return begin + n;
  }
  const size_t second = begin + first.length;
  const Kind kind = kind_of(first.code_point);
  if (kind != Kind::white) return run_end(text, second, kind);
  if (second == text.size()) return second;
  if (!behind_blank) {
    const Kind next = kind_of(decode_utf8(text, second).code_point);
    if (next != Kind::white) {
      return first.code_point == ' ' ? run_end(text, second, next) : second;
    }
  }
  // The last blank of several belongs to the word behind them.
  size_t last = begin, end = second;
  while (end < text.size()) {
    const DecodedChar c = decode_utf8(text, end);
    if (kind_of(c.code_point) != Kind::white) return last;
    last = end;
    end += c.length;
  }
  return end;
}

}  // namespace bert
