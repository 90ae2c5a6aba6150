#include "io/text_encoding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bert {
namespace {

constexpr size_t kBlock = 512;  // bytes that decide

enum class Order { little, big };

uint32_t unit_at(std::string_view bytes, size_t at, size_t width, Order order) {
  uint32_t unit = 0;
  for (size_t i = 0; i < width; ++i) {
    const size_t place = order == Order::big ? i : width - 1 - i;
    unit = unit << 8 | static_cast<unsigned char>(bytes[at + place]);
  }
  return unit;
}

bool is_control(uint32_t c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r'; }

/// Cuts the bytes that decide: a first line, empty ones before it, and the rest of its line feed.
std::string_view first_line(std::string_view start, size_t width) {
  const size_t text =
      std::min(start.find_first_not_of(std::string_view("\n\r\0", 3)), start.size());
  const size_t end = start.find('\n', text);
  if (end != start.npos) start = start.substr(0, end + width);
  start = start.substr(0, kBlock);
  return start.substr(0, start.size() / width * width);
}

/// The highest byte of a character of one unit is often small: 0 in Latin, 4 in Cyrillic. In UTF-8,
/// such bytes are control characters.
bool is_utf16(std::string_view start, Order order) {
  const std::string_view bytes = first_line(start, 2);
  size_t small = 0;
  bool low = false;  // a second half of a surrogate pair is wanted
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const uint32_t unit = unit_at(bytes, i, 2, order);
    const bool is_low = unit >= 0xDC00 && unit < 0xE000;
    if (is_control(unit) || unit >= 0xFFFE || is_low != low) return false;
    low = unit >= 0xD800 && unit < 0xDC00;
    small += is_control(unit >> 8) ? 1 : 0;
  }
  if (bytes.empty()) return false;
  // A line feed of two bytes is proof enough where the characters are of high numbers.
  const bool ends = unit_at(bytes, bytes.size() - 2, 2, order) == '\n';
  return ends || (small > 1 && 2 * small >= bytes.size() / 2);
}

bool is_utf32(std::string_view start, Order order) {
  const std::string_view bytes = first_line(start, 4);
  for (size_t i = 0; i < bytes.size(); i += 4) {
    const uint32_t c = unit_at(bytes, i, 4, order);
    if (is_control(c) || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return false;
  }
  return !bytes.empty();
}

}  // namespace

bool is_utf16_le(std::string_view start) { return is_utf16(start, Order::little); }
bool is_utf16_be(std::string_view start) { return is_utf16(start, Order::big); }
bool is_utf32_le(std::string_view start) { return is_utf32(start, Order::little); }
bool is_utf32_be(std::string_view start) { return is_utf32(start, Order::big); }

}  // namespace bert
