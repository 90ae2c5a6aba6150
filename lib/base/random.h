#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/export.h"

namespace bert {

/// Mixes two numbers into one that looks random (splitmix64's finaliser).
constexpr uint64_t mix(uint64_t key, uint64_t value) {
  uint64_t z = key + 0x9E3779B97F4A7C15u * (value + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Philox 4x32-10, a counter-based generator (Salmon et al. 2011): four random words that depend on
/// counter and key only, so that any position of any record can be drawn first, alone, or twice.
BERT_API std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                            std::array<uint32_t, 2> key);

/// Blocks of a counter's first 64 bits and those that follow, drawn together: several times as fast
/// as one by one.
inline constexpr size_t kPhiloxBlocks = 8;
BERT_API void philox4x32(uint64_t first, std::array<uint32_t, 2> rest, std::array<uint32_t, 2> key,
                         std::array<uint32_t, 4 * kPhiloxBlocks>& words);

}  // namespace bert
