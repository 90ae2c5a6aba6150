#include "base/random.h"

namespace bert {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr uint32_t kMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
  constexpr uint32_t kWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{kMultiplier[0]} * counter[0];
    const uint64_t b = uint64_t{kMultiplier[1]} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += kWeyl[0];
    key[1] += kWeyl[1];
  }
  return counter;
}

}  // namespace bert
