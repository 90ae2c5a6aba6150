#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

namespace bert {

/// The pieces of words seen lately, by the bytes of the word as they stand in the text: a hit needs
/// no normalising. One thread's; results never depend on what it holds.
class WordCache {
 public:
  static constexpr size_t kLongestKey = 24;
  static constexpr size_t kMostPieces = 5;

  struct Key {
    uint64_t part[3];
  };
  /// 64 bytes: one cache line.
  struct Entry {
    Key key;  ///< the bytes, then zeros; with `length` this is the word
    int32_t ids[kMostPieces];
    uint8_t begin[kMostPieces];  ///< relative to the key's bytes
    uint8_t end[kMostPieces];
    uint8_t word[kMostPieces];  ///< relative to the first word
    uint8_t length;             ///< 0: an empty entry
    uint8_t pieces;
    uint8_t words;
  };

  WordCache() : entries_(new Entry[kEntries]()) {}

  /// The key of text[0..length), length <= kLongestKey. `readable` bytes from `text` on may be
  /// read.
  static Key key(const char* text, size_t length, size_t readable) {
    Key key{};
    if (readable < kLongestKey) {
      std::memcpy(&key, text, length);
      return key;
    }
    std::memcpy(&key, text, kLongestKey);
    Key mask;
    std::memcpy(&mask, kMasks.of[length], kLongestKey);
    for (size_t i = 0; i < 3; ++i) key.part[i] &= mask.part[i];
    return key;
  }

  Entry& slot(const Key& key, size_t length) {
    uint64_t hash = (key.part[0] ^ length) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ (hash >> 32) ^ key.part[1]) * 0xD6E8FEB86659FD93u;
    hash = (hash ^ (hash >> 32) ^ key.part[2]) * 0xA0761D6478BD642Fu;
    return entries_[hash >> (64 - kBits)];
  }

  static bool holds(const Entry& entry, const Key& key, size_t length) {
    return ((entry.key.part[0] ^ key.part[0]) | (entry.key.part[1] ^ key.part[1]) |
            (entry.key.part[2] ^ key.part[2]) | (entry.length ^ length)) == 0;
  }

 private:
  static constexpr unsigned kBits = 14;
  static constexpr size_t kEntries = size_t{1} << kBits;

  /// For each length, 0xFF where a byte belongs to the word.
  struct Masks {
    unsigned char of[kLongestKey + 1][kLongestKey];
  };
  static constexpr Masks kMasks = [] {
    Masks masks{};
    for (size_t n = 0; n <= kLongestKey; ++n) {
      for (size_t b = 0; b < n; ++b) masks.of[n][b] = 0xFF;
    }
    return masks;
  }();

  std::unique_ptr<Entry[]> entries_;
};

static_assert(sizeof(WordCache::Entry) == 64);

}  // namespace bert
