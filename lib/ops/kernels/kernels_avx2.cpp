#if defined(__AVX2__)
#include <immintrin.h>

#include "base/cpu.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {

using Vec = __m256;
constexpr size_t kLanes = 8;

struct All {};
constexpr size_t count_of(All) { return kLanes; }
constexpr size_t count_of(size_t n) { return n; }

inline __m256i first_n(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline Vec load_n(const float* p, All) { return load(p); }
inline Vec load_n(const float* p, size_t n) { return _mm256_maskload_ps(p, first_n(n)); }
inline Vec load_or(const float* p, All, float) { return load(p); }
inline Vec load_or(const float* p, size_t n, float rest) {
  const __m256i mask = first_n(n);
  return _mm256_blendv_ps(_mm256_set1_ps(rest), _mm256_maskload_ps(p, mask),
                          _mm256_castsi256_ps(mask));
}
inline void store_n(float* p, Vec v, All) { store(p, v); }
inline void store_n(float* p, Vec v, size_t n) { _mm256_maskstore_ps(p, first_n(n), v); }
inline Vec keep_n(Vec v, All) { return v; }
inline Vec keep_n(Vec v, size_t n) { return _mm256_and_ps(v, _mm256_castsi256_ps(first_n(n))); }
inline Vec set1(float x) { return _mm256_set1_ps(x); }
/// One factor of all lanes, for fma.
inline Vec factor(float x) { return set1(x); }
inline Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
inline Vec div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
// Both return b if a or b is NaN.
inline Vec max_v(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec min_v(Vec a, Vec b) { return _mm256_min_ps(a, b); }
inline Vec round_v(Vec a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// p 2^n in two steps, since 2^128 does not fit a float.
inline Vec scale2(Vec p, Vec n) {
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const __m256i one = _mm256_set1_epi32(127);
  const __m256i a = _mm256_slli_epi32(_mm256_add_epi32(half, one), 23);
  const __m256i b = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), one), 23);
  return mul(mul(p, _mm256_castsi256_ps(a)), _mm256_castsi256_ps(b));
}
inline Vec zero_below(Vec x, float limit, Vec v) {
  return _mm256_andnot_ps(_mm256_cmp_ps(x, set1(limit), _CMP_LT_OQ), v);
}
inline float reduce_add(Vec v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float reduce_max(Vec v) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/// Stores whole numbers 0..255 as bytes.
template <typename Part>
inline void store_bytes(int8_t* p, Vec v, Part part) {
  const __m256i ints = _mm256_cvtps_epi32(v);
  const __m128i halfs =
      _mm_packs_epi32(_mm256_castsi256_si128(ints), _mm256_extracti128_si256(ints, 1));
  int64_t bytes = _mm_cvtsi128_si64(_mm_packus_epi16(halfs, halfs));
  __builtin_memcpy(p, &bytes, count_of(part));
}

template <int T>
inline Vec load_as(const std::byte* p) {
  if constexpr (T == 1) return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (T == 2) return _mm256_cvtph_ps(half);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

template <int T>
inline void transpose8(const std::byte* const* rows, size_t byte, float* out) {
  Vec r[8], s[8];
  UNROLL for (int i = 0; i < 8; ++i) r[i] = load_as<T>(rows[i] + byte);
  UNROLL for (int i = 0; i < 4; ++i) {
    s[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    s[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  UNROLL for (int i = 0; i < 2; ++i) {
    r[4 * i] = _mm256_shuffle_ps(s[4 * i], s[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(s[4 * i], s[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(s[4 * i + 1], s[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(s[4 * i + 1], s[4 * i + 3], 0xee);
  }
  UNROLL for (int c = 0; c < 4; ++c) {
    store(out + c * 16, _mm256_permute2f128_ps(r[c], r[4 + c], 0x20));
    store(out + (c + 4) * 16, _mm256_permute2f128_ps(r[c], r[4 + c], 0x31));
  }
}

/// Transposes 16 rows of 16 elements.
template <int T>
inline void transpose16(const std::byte* const* rows, float* out) {
  constexpr size_t kHalf = 8 * (T == 1 ? 4 : 2);
  transpose8<T>(rows, 0, out);
  transpose8<T>(rows + 8, 0, out + 8);
  transpose8<T>(rows, kHalf, out + 8 * 16);
  transpose8<T>(rows + 8, kHalf, out + 8 * 16 + 8);
}

template <size_t...>
struct Rows {};
template <size_t... R>
constexpr size_t rows_in(Rows<R...>) {
  return sizeof...(R);
}

using TileRows = Rows<1, 2, 3, 4, 5, 6>;
constexpr size_t kTilePanels = 1;
using OneTile = TileRows;
constexpr size_t kOneTilePanels = kTilePanels;
/// More rows: the sums would not stay in the registers.
using TileOfHalfs = Rows<1, 2, 3, 4>;
using OneTileOfHalfs = TileOfHalfs;
using FewRows = Rows<1>;
constexpr size_t kFewPanels = 4;

#include "ops/kernels/kernels_impl.h"
// After the kernels, which it uses.
#include "ops/kernels/gradient_kernels_impl.h"
inline Vec sqrt_v(Vec x) { return _mm256_sqrt_ps(x); }

using Ints = __m256i;
inline Ints load_ints(const char* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline Ints set1(int32_t x) { return _mm256_set1_epi32(x); }
inline Vec floats_of(Ints x) { return _mm256_cvtepi32_ps(x); }
inline Ints four_bytes(const void* p) { return set1(load_int(p)); }
/// Of every four signed bytes the first and third, or the second and fourth, as 16 bits.
inline Ints even_bytes(Ints x) { return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8); }
inline Ints odd_bytes(Ints x) { return _mm256_srai_epi16(x, 8); }
/// In each lane, sum += the products of two pairs of 16 bits. Assembly, because g++ 12 would
/// reorder the additions and keep the sums in memory.
inline void add_pairs(Ints& sum, Ints a, Ints b) {
  asm("vpaddd %1, %0, %0" : "+x"(sum) : "x"(_mm256_madd_epi16(a, b)));
}
/// More rows: the sums would not stay in the registers.
using Int8Rows = Rows<1, 2, 3, 4>;
// After Ints and its functions, which it uses.
#include "ops/kernels/int8_impl.h"
//
#include "ops/kernels/int8_wide_impl.h"

/// In each lane, sum += the products of four unsigned by four signed bytes: by AVX-VNNI or, on CPUs
/// without it, by AVX512_VNNI, the same instruction in another encoding.
template <bool Vex>
inline void multiply_add(Ints& sum, Ints x, Ints w) {
  if constexpr (Vex) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(w));
  } else {
    asm("%{evex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(w));
  }
}

template <bool Vex>
using Vnni = Fours<uint8_t, multiply_add<Vex>>;

}  // namespace

const GradientTable& gradient_kernels_avx2() { return kGradientTable; }

const KernelTable& kernels_avx2() {
  static const KernelTable table = table_with<Whole<Int8<Wide>>>(to_int8_wide, sizeof(int16_t));
  return table;
}

const KernelTable& kernels_avx2_vnni() {
  static const KernelTable table = has_avx_vnni()
                                       ? table_with<Whole<Int8<Vnni<true>>>>(to_int8_impl, 1)
                                       : table_with<Whole<Int8<Vnni<false>>>>(to_int8_impl, 1);
  return table;
}

}  // namespace bert
#endif
