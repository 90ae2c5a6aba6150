#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {
#include "ops/kernels/vec_avx512.h"
// After the vector type, which it uses.
#include "ops/kernels/kernels_impl.h"
// After the kernels, which it uses.
#include "ops/kernels/bf16_impl.h"

/// The largest elements of two vectors, found together.
struct Largest {
  float a, b;
};
inline Largest reduce_max(Vec a, Vec b) {
  const auto halves = [](Vec v) {
    return _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  };
  const __m256 x = halves(a), y = halves(b);
  const __m256 mixed = _mm256_max_ps(_mm256_unpacklo_ps(x, y), _mm256_unpackhi_ps(x, y));
  const __m256 pairs = _mm256_max_ps(mixed, _mm256_permute_ps(mixed, 0x4e));
  const __m128 both = _mm_max_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
  return {_mm_cvtss_f32(both), _mm_cvtss_f32(_mm_movehdup_ps(both))};
}

/// to_int8_group for a whole group, in fewer instructions.
inline Int8Scale to_int8_whole(const float* x, int8_t* out) {
  constexpr size_t kVecs = kInt8Group / kLanes;
  Vec v[kVecs];
  Vec low = set1(0.f), high = low;
  __mmask16 nan = 0;
  UNROLL for (size_t i = 0; i < kVecs; ++i) {
    v[i] = load(x + i * kLanes);
    low = min_v(v[i], low);
    high = max_v(v[i], high);
    nan |= _mm512_cmp_ps_mask(v[i], v[i], _CMP_UNORD_Q);
  }
  const Largest largest = reduce_max(high, sub(set1(0.f), low));
  const float range = largest.a + largest.b;
  const float bad = nan ? __builtin_nanf("") : range - range;  // NaN if the range is infinite
  const bool flat = range < kSmallestScale;
  const float factor = flat ? 0.f : 255.f / range;
  const float zero = nearest(largest.b * factor);
  const Vec f = set1(factor);
  const __m512i z = _mm512_cvtps_epi32(set1(zero));
  UNROLL for (size_t i = 0; i < kVecs; ++i) {
    const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(mul(v[i], f)), z);
    const __m512i least = _mm512_max_epi32(q, _mm512_setzero_si512());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * kLanes), _mm512_cvtusepi32_epi8(least));
  }
  return {(flat ? 0.f : range / 255.f) + bad, zero};
}

void to_int8_vnni(const float* x, size_t k, void* to, Int8Scale* scales) {
  int8_t* out = static_cast<int8_t*>(to);
  const size_t whole = k / kInt8Group * kInt8Group;
  for (size_t i = 0; i < whole; i += kInt8Group) *scales++ = to_int8_whole(x + i, out + i);
  if (whole < k) *scales = to_int8_group(x + whole, k - whole, out + whole);
}

/// In each lane, sum += the products of four unsigned by four signed bytes. Assembly, because g++
/// 12 copies the accumulators of its intrinsic through the stack (measured: half the speed).
inline void multiply_add(__m512i& sum, __m512i x, __m512i w) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
}

/// Unsigned inputs by signed weights, group by group. Both the exact sums of a group and the float
/// sums over groups stay in registers.
struct Int8 {
  using AllRows = Rows<1, 2, 3, 4>;
  static constexpr size_t kStep = kInt8Group;

  template <size_t MR, size_t NP>
  static void tile(const GemmTask& t, size_t row, float* tile, size_t ld, Ahead ahead) {
    const size_t groups = int8_groups(t.k);
    const Int8Scale* scales = t.a_scales + row * groups;
    const int8_t* a = static_cast<const int8_t*>(t.a) + row * t.lda;
    const char* b = static_cast<const char*>(t.b);
    Vec total[MR][NP];
    UNROLL for (size_t r = 0; r < MR; ++r) {
      UNROLL for (size_t j = 0; j < NP; ++j) total[r][j] = set1(0.f);
    }
    for (size_t k = 0; k < t.k; k += kInt8Group, ++scales) {
      ahead.fetch();
      const char* head = b;
      b += 128;
      __m512i sum[MR][NP];
      UNROLL for (size_t r = 0; r < MR; ++r) {
        UNROLL for (size_t j = 0; j < NP; ++j) sum[r][j] = _mm512_setzero_si512();
      }
      const size_t steps = (smaller(kInt8Group, t.k - k) + 3) / 4;
      for (size_t i = 0; i < steps; ++i, a += 4, b += 64) {
        __m512i w[NP];
        UNROLL for (size_t j = 0; j < NP; ++j) w[j] = _mm512_loadu_si512(b + j * t.panel_stride);
        UNROLL for (size_t r = 0; r < MR; ++r) {
          const __m512i x = _mm512_set1_epi32(load_int(a + r * t.lda));
          UNROLL for (size_t j = 0; j < NP; ++j) multiply_add(sum[r][j], x, w[j]);
        }
      }
      UNROLL for (size_t j = 0; j < NP; ++j) {
        const Vec scale = _mm512_loadu_ps(head + j * t.panel_stride);
        const Vec excess = _mm512_cvtepi32_ps(_mm512_loadu_si512(head + j * t.panel_stride + 64));
        UNROLL for (size_t r = 0; r < MR; ++r) {
          const Int8Scale& s = scales[r * groups];
          // Exact, since floats hold all whole numbers below 2^24.
          const Vec exact = sub(_mm512_cvtepi32_ps(sum[r][j]), mul(excess, set1(s.zero)));
          total[r][j] = add(total[r][j], mul(mul(exact, scale), set1(s.scale)));
        }
      }
    }
    UNROLL for (size_t r = 0; r < MR; ++r) {
      UNROLL for (size_t j = 0; j < NP; ++j) store(tile + r * ld + j * kPanel, total[r][j]);
    }
  }
};

struct BFloat16 {
  using AllRows = TileRows;
  static constexpr size_t kStep = 2;

  template <size_t MR, size_t NP>
  static void tile(const GemmTask& t, size_t row, float* tile, size_t ld, Ahead ahead) {
    const uint16_t* a = static_cast<const uint16_t*>(t.a) + row * t.lda;
    const char* b = static_cast<const char*>(t.b);
    Vec sum[MR][NP];
    UNROLL for (size_t r = 0; r < MR; ++r) {
      UNROLL for (size_t j = 0; j < NP; ++j) sum[r][j] = set1(0.f);
    }
    const size_t steps = (t.k + 1) / 2;
    for (size_t i = 0; i < steps; ++i) {
      ahead.fetch();
      __m512bh w[NP];
      UNROLL for (size_t j = 0; j < NP; ++j) {
        w[j] = (__m512bh)_mm512_loadu_si512(b + j * t.panel_stride);
      }
      UNROLL for (size_t r = 0; r < MR; ++r) {
        const __m512bh x = (__m512bh)_mm512_set1_epi32(load_int(a + r * t.lda + 2 * i));
        UNROLL for (size_t j = 0; j < NP; ++j) sum[r][j] = _mm512_dpbf16_ps(sum[r][j], x, w[j]);
      }
      b += 64;
    }
    UNROLL for (size_t r = 0; r < MR; ++r) {
      UNROLL for (size_t j = 0; j < NP; ++j) store(tile + r * ld + j * kPanel, sum[r][j]);
    }
  }
};

}  // namespace

const KernelTable& kernels_avx512_vnni() {
  static const KernelTable table = table_with<Whole<Int8>>(to_int8_vnni, 1);
  return table;
}

const KernelTable& kernels_avx512_bf16() {
  static const KernelTable table = [] {
    KernelTable bf16 = kernels_avx512_vnni();
    set_bf16<gemm<Whole<BFloat16>>>(bf16);
    return bf16;
  }();
  return table;
}

}  // namespace bert
#endif
