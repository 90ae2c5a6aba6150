#include "base/hash.h"

#include <bit>
#include <cstring>

namespace bert {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u, kPrime2 = 0xC2B2AE3D27D4EB4Fu,
                   kPrime3 = 0x165667B19E3779F9u, kPrime4 = 0x85EBCA77C2B2AE63u,
                   kPrime5 = 0x27D4EB2F165667C5u;

/// Removes the first word of `bytes` (little-endian) and returns it.
template <typename Word>
Word take(std::string_view& bytes) {
  Word word;
  std::memcpy(&word, bytes.data(), sizeof word);
  bytes.remove_prefix(sizeof word);
  return word;
}

uint64_t mix(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

}  // namespace

uint64_t xxh64(std::string_view bytes) {
  const uint64_t length = bytes.size();
  uint64_t hash = kPrime5;
  if (length >= 32) {
    uint64_t lanes[4] = {kPrime1 + kPrime2, kPrime2, 0, uint64_t{0} - kPrime1};
    while (bytes.size() >= 32) {
      for (uint64_t& lane : lanes) lane = mix(lane, take<uint64_t>(bytes));
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
           std::rotl(lanes[3], 18);
    for (const uint64_t lane : lanes) hash = (hash ^ mix(0, lane)) * kPrime1 + kPrime4;
  }
  hash += length;
  while (bytes.size() >= 8) {
    hash = std::rotl(hash ^ mix(0, take<uint64_t>(bytes)), 27) * kPrime1 + kPrime4;
  }
  if (bytes.size() >= 4) {
    hash = std::rotl(hash ^ take<uint32_t>(bytes) * kPrime1, 23) * kPrime2 + kPrime3;
  }
  while (!bytes.empty()) hash = std::rotl(hash ^ take<uint8_t>(bytes) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

void StreamHash::add(std::string_view piece) {
  for (size_t at = 0; at < piece.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, piece.data() + at, std::min(piece.size() - at, sizeof word));
    hash_ = (std::rotl(hash_, 5) ^ word) * 0x9E3779B97F4A7C15u;
  }
}

uint64_t fnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace bert
