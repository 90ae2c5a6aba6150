#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "base/lazy_zeros.h"

namespace bert {

/// Up to `N` bytes of text as whole words of a register, with zeros behind them.
template <size_t N>
struct WordKey {
  std::array<uint64_t, N / 8> part{};

  bool operator==(const WordKey& other) const {
    uint64_t difference = 0;
    for (size_t i = 0; i < N / 8; ++i) difference |= part[i] ^ other.part[i];
    return difference == 0;
  }

  /// text[0..length), length <= N; `readable` bytes from `text` on may be read.
  static WordKey read(const char* text, size_t length, size_t readable) {
    WordKey key;
    if (readable < N) {
      std::memcpy(key.part.data(), text, length);
      return key;
    }
    WordKey mask;
    std::memcpy(key.part.data(), text, N);
    std::memcpy(mask.part.data(), kMasks[length].data(), N);
    for (size_t i = 0; i < N / 8; ++i) key.part[i] &= mask.part[i];
    return key;
  }

  uint64_t hash() const {
    constexpr uint64_t kFactors[] = {0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u, 0xA0761D6478BD642Fu};
    uint64_t hash = 0;
    for (size_t i = 0; i < N / 8; ++i) hash += (part[i] ^ (part[i] >> 32)) * kFactors[i];
    return hash;
  }

 private:
  /// For each length, 0xFF where a byte belongs to the word.
  static constexpr auto kMasks = [] {
    std::array<std::array<unsigned char, N>, N + 1> masks{};
    for (size_t n = 0; n <= N; ++n) {
      for (size_t b = 0; b < n; ++b) masks[n][b] = 0xFF;
    }
    return masks;
  }();
};

/// The pieces of a word of ASCII letters and digits, end to end. A key of zeros is an empty entry.
struct alignas(32) AsciiWord {
  static constexpr size_t kLongest = 16;
  static constexpr size_t kMostPieces = 3;
  using Key = WordKey<kLongest>;

  Key key;
  int32_t ids[kMostPieces];
  uint8_t end[kMostPieces];  ///< relative to the word; the first begins at 0
  uint8_t pieces;
};
static_assert(sizeof(AsciiWord) == 32);

/// The pieces of any text between two characters at which it may be cut.
struct alignas(64) Chunk {
  static constexpr size_t kLongest = 24;
  static constexpr size_t kMostPieces = 5;
  using Key = WordKey<kLongest>;

  Key key;
  int32_t ids[kMostPieces];
  uint8_t begin[kMostPieces];  ///< relative to the chunk
  uint8_t end[kMostPieces];
  uint8_t word[kMostPieces];  ///< relative to the chunk's first word
  uint8_t length;             ///< 0: an empty entry
  uint8_t pieces;
  uint8_t words;
};
static_assert(sizeof(Chunk) == 64);

/// What was seen lately, by its bytes as they stand in the text: a hit needs no normalising. Each
/// key has one place. One thread's; results never depend on what it holds.
template <typename Entry, unsigned kBits>
class WordCache {
 public:
  Entry& place(const typename Entry::Key& key) {
    if (!entries_) entries_ = LazyZeros<Entry>(size_t{1} << kBits);
    return entries_[key.hash() >> (64 - kBits)];
  }

 private:
  LazyZeros<Entry> entries_;
};

}  // namespace bert
