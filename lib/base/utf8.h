#pragma once

#include <cstddef>
#include <string_view>

namespace bert {

/// One step through a byte string that should be UTF-8: a character, or invalid bytes.
struct Utf8Step {
  size_t length;  ///< bytes of the character, or of the maximal invalid part, which becomes one
                  ///< U+FFFD (Unicode 3.9)
  bool valid;
};

/// The step at `text[i]`, i < text.size(). Well-formed as in table 3-7 of the Unicode standard.
constexpr Utf8Step utf8_step(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) -> unsigned {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;  // no overlong form
  const unsigned high = lead == 0xED   ? 0x9F
                        : lead == 0xF4 ? 0x8F
                                       : 0xBF;  // no surrogate, <= U+10FFFF
  if (byte(1) < low || byte(1) > high) return {1, false};
  for (size_t k = 2; k < length; ++k) {
    if ((byte(k) & 0xC0u) != 0x80u) return {k, false};
  }
  return {length, true};
}

constexpr bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = utf8_step(text, i);
    if (!step.valid) return false;
    i += step.length;
  }
  return true;
}

}  // namespace bert
