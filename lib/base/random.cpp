#include "base/random.h"

#ifdef __SSE2__
#include <emmintrin.h>
#else
#include <algorithm>
#endif

namespace bert {
namespace {

constexpr uint32_t kMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
constexpr uint32_t kWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
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

#ifdef __SSE2__
void philox4x32(uint64_t first, std::array<uint32_t, 2> rest, std::array<uint32_t, 2> key,
                std::array<uint32_t, 4 * kPhiloxBlocks>& words) {
  constexpr size_t N = kPhiloxBlocks / 2;  // words of two blocks in a vector, 64 bits apart
  const auto both = [](uint32_t word) { return _mm_set1_epi64x(word); };
  const __m128i low = both(0xFFFFFFFFu),
                multiplier[2] = {both(kMultiplier[0]), both(kMultiplier[1])};
  __m128i c[4][N];
  for (size_t i = 0; i < N; ++i) {
    const auto at = static_cast<long long>(first + 2 * i);
    const __m128i counter = _mm_set_epi64x(at + 1, at);
    c[0][i] = _mm_and_si128(counter, low);
    c[1][i] = _mm_srli_epi64(counter, 32);
    c[2][i] = both(rest[0]);
    c[3][i] = both(rest[1]);
  }
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < N; ++i) {
      const __m128i a = _mm_mul_epu32(multiplier[0], c[0][i]);
      const __m128i b = _mm_mul_epu32(multiplier[1], c[2][i]);
      c[0][i] = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(b, 32), c[1][i]), both(key[0]));
      c[1][i] = _mm_and_si128(b, low);
      c[2][i] = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(a, 32), c[3][i]), both(key[1]));
      c[3][i] = _mm_and_si128(a, low);
    }
    key[0] += kWeyl[0];
    key[1] += kWeyl[1];
  }
  for (size_t i = 0; i < N; ++i) {
    const __m128i front = _mm_or_si128(c[0][i], _mm_slli_epi64(c[1][i], 32));
    const __m128i back = _mm_or_si128(c[2][i], _mm_slli_epi64(c[3][i], 32));
    auto* out = reinterpret_cast<__m128i*>(&words[8 * i]);
    _mm_storeu_si128(out, _mm_unpacklo_epi64(front, back));
    _mm_storeu_si128(out + 1, _mm_unpackhi_epi64(front, back));
  }
}
#else
void philox4x32(uint64_t first, std::array<uint32_t, 2> rest, std::array<uint32_t, 2> key,
                std::array<uint32_t, 4 * kPhiloxBlocks>& words) {
  for (size_t i = 0; i < kPhiloxBlocks; ++i) {
    const uint64_t at = first + i;
    const auto block = philox4x32(
        {static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), rest[0], rest[1]}, key);
    std::copy(block.begin(), block.end(), words.begin() + 4 * i);
  }
}
#endif

}  // namespace bert
