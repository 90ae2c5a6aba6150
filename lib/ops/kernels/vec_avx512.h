// Vec for kernels_impl.h with AVX-512 (F, BW, DQ, VL), for an anonymous namespace.

using Vec = __m512;
constexpr size_t kLanes = 16;

struct All {};

inline __mmask16 first_n(size_t n) { return static_cast<__mmask16>((1u << n) - 1u); }

inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline Vec load_n(const float* p, All) { return load(p); }
inline Vec load_n(const float* p, size_t n) { return _mm512_maskz_loadu_ps(first_n(n), p); }
inline Vec load_or(const float* p, All, float) { return load(p); }
inline Vec load_or(const float* p, size_t n, float rest) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(rest), first_n(n), p);
}
inline void store_n(float* p, Vec v, All) { store(p, v); }
inline void store_n(float* p, Vec v, size_t n) { _mm512_mask_storeu_ps(p, first_n(n), v); }
inline Vec keep_n(Vec v, All) { return v; }
inline Vec keep_n(Vec v, size_t n) { return _mm512_maskz_mov_ps(first_n(n), v); }
inline Vec set1(float x) { return _mm512_set1_ps(x); }
/// One factor of all lanes, for fma.
inline Vec factor(float x) { return set1(x); }
inline Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// Both return b if a or b is NaN.
inline Vec max_v(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec min_v(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec round_v(Vec a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Vec scale2(Vec p, Vec n) { return _mm512_scalef_ps(p, n); }
inline Vec zero_below(Vec x, float limit, Vec v) {
  return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(x, set1(limit), _CMP_LT_OQ), _mm512_setzero_ps());
}
inline float reduce_add(Vec v) { return _mm512_reduce_add_ps(v); }
inline float reduce_max(Vec v) { return _mm512_reduce_max_ps(v); }

/// Stores whole numbers 0..255 as bytes.
inline void store_bytes(int8_t* p, Vec v, All) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
}
inline void store_bytes(int8_t* p, Vec v, size_t n) {
  _mm512_mask_cvtepi32_storeu_epi8(p, first_n(n), _mm512_cvtps_epi32(v));
}

template <int T>
inline Vec load_as(const std::byte* p) {
  if constexpr (T == 1) return _mm512_loadu_ps(p);
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if constexpr (T == 2) return _mm512_cvtph_ps(half);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/// Transposes 16 rows of 16 elements.
template <int T>
inline void transpose16(const std::byte* const* rows, float* out) {
  Vec r[16], s[16];
  UNROLL for (int i = 0; i < 16; ++i) r[i] = load_as<T>(rows[i]);
  UNROLL for (int i = 0; i < 8; ++i) {
    s[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    s[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  UNROLL for (int i = 0; i < 4; ++i) {
    const __m512d a = _mm512_castps_pd(s[4 * i]), b = _mm512_castps_pd(s[4 * i + 2]);
    const __m512d c = _mm512_castps_pd(s[4 * i + 1]), d = _mm512_castps_pd(s[4 * i + 3]);
    r[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
    r[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    r[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
    r[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
  }
  // r[4 g + c] holds column c, c + 4, c + 8, c + 12 of rows 4 g .. 4 g + 3, one per quarter.
  UNROLL for (int c = 0; c < 4; ++c) {
    const Vec a = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88);
    const Vec b = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xdd);
    const Vec d = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
    const Vec e = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xdd);
    store(out + c * 16, _mm512_shuffle_f32x4(a, d, 0x88));
    store(out + (c + 4) * 16, _mm512_shuffle_f32x4(b, e, 0x88));
    store(out + (c + 8) * 16, _mm512_shuffle_f32x4(a, d, 0xdd));
    store(out + (c + 12) * 16, _mm512_shuffle_f32x4(b, e, 0xdd));
  }
}

template <size_t...>
struct Rows {};
template <size_t... R>
constexpr size_t rows_in(Rows<R...>) {
  return sizeof...(R);
}

using TileRows = Rows<1, 2, 3, 4, 5, 6, 7, 8>;
constexpr size_t kTilePanels = 3;
using OneTile = Rows<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>;
constexpr size_t kOneTilePanels = 2;
/// More rows: the sums would not stay in the registers.
using TileOfHalfs = Rows<1, 2, 3, 4, 5, 6, 7>;
using OneTileOfHalfs = Rows<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>;
using FewRows = Rows<1, 2>;
constexpr size_t kFewPanels = 4;

#if defined(__AVX512BF16__)  // for bf16_impl.h
inline Vec load_some(const float* p, size_t n) { return load_n(p, n); }

/// Stores pairs of bf16: `even` in the lower half of each lane, `odd` in the upper half.
inline void store_pairs(char* p, Vec even, Vec odd) {
  const __m512i index = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(p, _mm512_permutexvar_epi16(index, (__m512i)_mm512_cvtne2ps_pbh(odd, even)));
}
/// Stores two vectors, one behind the other, as bf16.
inline void store_halfs(uint16_t* p, Vec low, Vec high) {
  _mm512_storeu_si512(p, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}
/// Copies n of 32 values of 16 bits.
inline void copy_halfs(uint16_t* to, const void* from, size_t n) {
  const auto some = static_cast<__mmask32>((uint64_t{1} << n) - 1);
  _mm512_mask_storeu_epi16(to, some, _mm512_loadu_si512(from));
}
#endif
