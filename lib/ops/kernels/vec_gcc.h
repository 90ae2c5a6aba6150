// Vec for kernels_impl.h by GCC's vectors of 4 floats (SSE2 on x86, NEON on ARM, plain code
// elsewhere), for an anonymous namespace. fma, store_bytes and load_as are those of the file that
// includes it.

using Vec = float __attribute__((vector_size(16)));
using IntVec = int32_t __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;

struct All {};
constexpr size_t count_of(All) { return kLanes; }
constexpr size_t count_of(size_t n) { return n; }

inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
inline Vec set1(float x) { return Vec{x, x, x, x}; }
inline Vec load_n(const float* p, All) { return load(p); }
inline Vec load_or(const float* p, size_t n, float rest) {
  return Vec{p[0], n > 1 ? p[1] : rest, n > 2 ? p[2] : rest, n > 3 ? p[3] : rest};
}
inline Vec load_or(const float* p, All, float) { return load(p); }
inline Vec load_n(const float* p, size_t n) { return load_or(p, n, 0.f); }
inline void store_n(float* p, Vec v, All) { store(p, v); }
inline void store_n(float* p, Vec v, size_t n) {
  for (size_t i = 0; i < n; ++i) p[i] = v[i];
}
inline Vec keep_n(Vec v, All) { return v; }
inline Vec keep_n(Vec v, size_t n) {
  return Vec{n > 0 ? v[0] : 0.f, n > 1 ? v[1] : 0.f, n > 2 ? v[2] : 0.f, n > 3 ? v[3] : 0.f};
}
inline Vec add(Vec a, Vec b) { return a + b; }
inline Vec sub(Vec a, Vec b) { return a - b; }
inline Vec mul(Vec a, Vec b) { return a * b; }
inline Vec div(Vec a, Vec b) { return a / b; }
// Both return b if a or b is NaN.
inline Vec max_v(Vec a, Vec b) { return a > b ? a : b; }
inline Vec min_v(Vec a, Vec b) { return a < b ? a : b; }
/// Rounds to the nearest even whole number, for |a| < 2^22.
inline Vec round_v(Vec a) { return (a + 12582912.f) - 12582912.f; }
/// p 2^n in two steps, since 2^128 does not fit a float.
inline Vec scale2(Vec p, Vec n) {
  const IntVec whole = __builtin_convertvector(n, IntVec);
  const IntVec half = whole >> 1;
  return p * (Vec)((half + 127) << 23) * (Vec)((whole - half + 127) << 23);
}
inline Vec zero_below(Vec x, float limit, Vec v) { return x < set1(limit) ? set1(0.f) : v; }
inline float reduce_add(Vec v) { return (v[0] + v[2]) + (v[1] + v[3]); }
inline float reduce_max(Vec v) {
  const float a = v[0] > v[2] ? v[0] : v[2];
  const float b = v[1] > v[3] ? v[1] : v[3];
  return a > b ? a : b;
}

template <int T>
inline Vec load_as(const std::byte* p);

/// Transposes 4 of 16 rows, of 4 elements.
template <int T>
inline void transpose4(const std::byte* const* rows, size_t byte, float* out) {
  Vec r[4];
  UNROLL for (int i = 0; i < 4; ++i) r[i] = load_as<T>(rows[i] + byte);
  const Vec a = __builtin_shufflevector(r[0], r[2], 0, 4, 1, 5);
  const Vec b = __builtin_shufflevector(r[1], r[3], 0, 4, 1, 5);
  const Vec c = __builtin_shufflevector(r[0], r[2], 2, 6, 3, 7);
  const Vec d = __builtin_shufflevector(r[1], r[3], 2, 6, 3, 7);
  store(out, __builtin_shufflevector(a, b, 0, 4, 1, 5));
  store(out + kPanel, __builtin_shufflevector(a, b, 2, 6, 3, 7));
  store(out + 2 * kPanel, __builtin_shufflevector(c, d, 0, 4, 1, 5));
  store(out + 3 * kPanel, __builtin_shufflevector(c, d, 2, 6, 3, 7));
}

/// Transposes 16 rows of 16 elements.
template <int T>
inline void transpose16(const std::byte* const* rows, float* out) {
  constexpr size_t kSize = T == 1 ? 4 : 2;
  for (size_t n = 0; n < kPanel; n += 4) {
    for (size_t i = 0; i < kPanel; i += 4) {
      transpose4<T>(rows + n, i * kSize, out + i * kPanel + n);
    }
  }
}

template <size_t...>
struct Rows {};
template <size_t... R>
constexpr size_t rows_in(Rows<R...>) {
  return sizeof...(R);
}
