#include "base/base64.h"

#include <array>
#include <cstdint>

namespace bert {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> kValues = [] {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  }
  return values;
}();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t bits = 0;
    for (size_t k = i; k < i + 4; ++k) {
      const int8_t value =
          k >= text.size() - padding ? int8_t{0} : kValues[static_cast<unsigned char>(text[k])];
      if (value < 0) return std::nullopt;
      bits = (bits << 6) | static_cast<uint32_t>(value);
    }
    for (unsigned shift : {16u, 8u, 0u}) bytes += static_cast<char>((bits >> shift) & 0xFF);
  }
  for (size_t k = 0; k < padding; ++k) {  // bits that no byte has must be 0
    if (bytes.back() != 0) return std::nullopt;
    bytes.pop_back();
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = i; k < i + 3; ++k) {
      bits = (bits << 8) | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u);
    }
    for (const unsigned shift : {18u, 12u, 6u, 0u}) text += kDigits[(bits >> shift) & 63];
  }
  const size_t padding = (3 - bytes.size() % 3) % 3;
  return text.replace(text.size() - padding, padding, padding, '=');
}

}  // namespace bert
