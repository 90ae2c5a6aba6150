#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/export.h"
#include "base/utf8.h"
#include "text/unicode_tables.h"

namespace bert {

/// Properties of a code point as Hugging Face tokenizers 0.23 sees them. Its tables mix several
/// Unicode versions, so ours are generated from it (make_unicode_tables.py).
enum CharClass : uint16_t {
  kCharRemoved = 1 << 0,      ///< clean_text drops it: Cc, Cf, Co, U+FFFD
  kCharSpace = 1 << 1,        ///< clean_text turns it into a blank
  kCharWhite = 1 << 2,        ///< separates words in text that was not cleaned
  kCharPunctuation = 1 << 3,  ///< a word of its own
  kCharCjk = 1 << 4,          ///< a Chinese character
  kCharMark = 1 << 5,         ///< Mn: strip_accents drops it
  kCharDecomposes = 1 << 6,   ///< has a canonical decomposition
  kCharCombining = 1 << 7,    ///< combining class other than 0
  kCharLowers = 1 << 8,       ///< lower case differs
  kCharWord = 1 << 9,         ///< \w of the regular expressions beside single_word tokens
  kCharLetter = 1 << 10,      ///< \p{L} of the pattern that splits words of byte-level vocabularies
  kCharNumber = 1 << 11,      ///< its \p{N}; its \s is kCharWhite
  kCharCompatible = 1 << 12,  ///< its compatibility decomposition is not the canonical one
  kCharAnyMark = 1 << 13,     ///< M: StripAccents drops it
  kCharNotLower = 1 << 14,    ///< Lu, Lt, Lm, Lo, M of the regular expressions
  kCharNotUpper = 1 << 15,    ///< their Ll, Lm, Lo, M; so their M is both, and no letter
};

inline unsigned char_class(char32_t c) {
  using namespace unicode_tables;
  return kKinds[kBlocks[(size_t{kIndex[c >> kBlockBits]} << kBlockBits) +
                        (c & ((1u << kBlockBits) - 1))]];
}

/// The lower case of `c` in out[0..n); returns n, 1 or 2.
size_t to_lower(char32_t c, char32_t out[2]);

/// A name in lower case, without white space and invisible characters, to find names that are
/// alike.
BERT_API std::string folded(std::string_view name);

/// The full canonical decomposition of `c` in out[0..n), n <= 4; `c` itself if it has none.
size_t decompose(char32_t c, char32_t out[4]);

/// As decompose, the compatibility decomposition: NFKD of `c` alone, n <= 18.
size_t decompose_compatible(char32_t c, char32_t out[18]);

/// The character that NFC makes of two neighbours; 0 if it leaves both.
char32_t compose(char32_t first, char32_t second);

/// The canonical combining class of `c`; a starter has 0.
uint8_t combining_class(char32_t c);

constexpr char32_t kReplacement = 0xFFFD;

struct DecodedChar {
  char32_t code_point;  ///< U+FFFD if invalid
  uint32_t length;      ///< bytes read
  bool valid;
};

/// The character at text[i]; U+FFFD for each maximal invalid part.
inline DecodedChar decode_utf8(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i + k]));
  };
  if (byte(0) < 0x80) return {byte(0), 1, true};
  const Utf8Step step = utf8_step(text, i);
  const auto length = static_cast<uint32_t>(step.length);
  if (!step.valid) return {kReplacement, length, false};
  if (length == 2) return {((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F), length, true};
  if (length == 3) {
    return {((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F), length, true};
  }
  return {((byte(0) & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) |
              (byte(3) & 0x3F),
          length, true};
}

/// Writes `c` as UTF-8 to `out`, which has room for 4 bytes; returns the number of bytes.
size_t encode_utf8(char32_t c, char* out);

/// The number of code points of `text`; each maximal invalid part counts as one.
size_t count_code_points(std::string_view text);

/// The character before text[i], i > 0, where a character begins or the text ends.
char32_t char_before(std::string_view text, size_t i);

/// Letters of scripts that write no blanks between words: Chinese, Japanese, Thai, Lao, Khmer,
/// Burmese.
bool is_unspaced(char32_t c);

/// Widens [begin, end) of `text` by the combining marks after it and, if it begins with a mark, by
/// the letter before that mark.
void include_marks(std::string_view text, size_t& begin, size_t& end);

}  // namespace bert
