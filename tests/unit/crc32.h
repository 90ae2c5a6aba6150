#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bert::test {

/// CRC-32 of bytes and of numbers, written little endian, as zlib has it.
class Crc32 {
 public:
  void add(uint32_t number) {
    for (int k = 0; k < 4; ++k, number >>= 8) add_byte(number & 0xFF);
  }
  void add(std::string_view bytes) {
    for (char c : bytes) add_byte(static_cast<unsigned char>(c));
  }
  uint32_t value() const { return ~crc_; }

 private:
  void add_byte(uint32_t byte) { crc_ = kTable[(crc_ ^ byte) & 0xFF] ^ (crc_ >> 8); }

  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      table[i] = i;
      for (int k = 0; k < 8; ++k)
        table[i] = (table[i] >> 1) ^ (0xEDB88320u & (0u - (table[i] & 1)));
    }
    return table;
  }();
  uint32_t crc_ = ~0u;
};

}  // namespace bert::test
