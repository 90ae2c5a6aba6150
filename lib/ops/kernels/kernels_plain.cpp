#include "ops/gradient_kernels.h"
#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {

// GCC's vectors of 4 floats: SSE2 on x86, NEON on ARM, and plain code elsewhere.
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
  return Vec{v[0], n > 1 ? v[1] : 0.f, n > 2 ? v[2] : 0.f, n > 3 ? v[3] : 0.f};
}
inline Vec add(Vec a, Vec b) { return a + b; }
inline Vec sub(Vec a, Vec b) { return a - b; }
inline Vec mul(Vec a, Vec b) { return a * b; }
inline Vec div(Vec a, Vec b) { return a / b; }
inline Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }
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

/// Stores whole numbers 0..255 as bytes.
template <typename Part>
inline void store_bytes(int8_t* p, Vec v, Part part) {
  float floats[kLanes];
  store(floats, v);
  const size_t n = count_of(part);
  for (size_t i = 0; i < n; ++i) p[i] = static_cast<int8_t>(static_cast<int32_t>(floats[i]));
}

inline float scalar_as(int type, const std::byte* in);

template <int T>
inline Vec load_as(const std::byte* p) {
  constexpr size_t kSize = T == 1 ? 4 : 2;
  return Vec{scalar_as(T, p), scalar_as(T, p + kSize), scalar_as(T, p + 2 * kSize),
             scalar_as(T, p + 3 * kSize)};
}

/// Transposes 16 rows of 16 elements.
template <int T>
inline void transpose16(const std::byte* const* rows, float* out) {
  constexpr size_t kSize = T == 1 ? 4 : 2;
  for (size_t n = 0; n < kPanel; ++n) {
    for (size_t i = 0; i < 16; ++i) out[i * kPanel + n] = scalar_as(T, rows[n] + i * kSize);
  }
}

template <size_t...>
struct Rows {};
template <size_t... R>
constexpr size_t rows_in(Rows<R...>) {
  return sizeof...(R);
}

using TileRows = Rows<1, 2>;
constexpr size_t kTilePanels = 1;
using OneTile = TileRows;
constexpr size_t kOneTilePanels = kTilePanels;
using TileOfHalfs = TileRows;
using OneTileOfHalfs = OneTile;
using FewRows = Rows<1>;
constexpr size_t kFewPanels = 2;

#include "ops/kernels/kernels_impl.h"
// After the kernels, which it uses.
#include "ops/kernels/gradient_kernels_impl.h"
inline Vec sqrt_v(Vec x) {
  return Vec{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
             __builtin_sqrtf(x[3])};
}

/// int8 in floats: the sums of a group are whole numbers below 2^24, which floats hold exactly.
void to_int8_floats(const float* x, size_t k, void* out, Int8Scale* scales) {
  float* to = static_cast<float*>(out);
  for (size_t i = 0; i < k; i += kInt8Group) {
    int8_t bytes[kInt8Group];
    const size_t count = smaller(kInt8Group, k - i);
    *scales++ = to_int8_group(x + i, count, bytes);
    for (size_t j = 0; j < round_up(count, 4); ++j) *to++ = static_cast<uint8_t>(bytes[j]);
  }
}

/// [count / 4][16][4] bytes to [count][16] floats.
inline void widen(const char* bytes, size_t count, float* out) {
  for (size_t i = 0; i < count; i += 4, bytes += 4 * kPanel) {
    for (size_t n = 0; n < kPanel; n += kLanes) {
      IntVec four;
      __builtin_memcpy(&four, bytes + 4 * n, sizeof four);
      UNROLL for (int f = 0; f < 4; ++f) {
        const IntVec one = four << (24 - 8 * f) >> 24;
        store(out + (i + f) * kPanel + n, __builtin_convertvector(one, Vec));
      }
    }
  }
}

struct Int8 {
  using SomeRows = TileRows;
  using AllRows = TileRows;
  static constexpr size_t kTilesAtOnce = 16;  ///< they share a widened group of weights

  template <size_t NP, size_t... R>
  static void run(const GemmTask& t, size_t row, size_t rows, float* tile, size_t ld,
                  Rows<R...> all) {
    constexpr size_t kWidth = NP * kPanel, kWide = kInt8Group * kPanel;
    const size_t groups = int8_groups(t.k);
    const Int8Scale* scales = t.a_scales + row * groups;
    const float* a = static_cast<const float*>(t.a) + row * t.lda;
    const char* b = static_cast<const char*>(t.b);
    for (size_t k = 0; k < t.k; k += kInt8Group, ++scales) {
      const size_t count = round_up(smaller(kInt8Group, t.k - k), 4);
      float weights[NP * kWide], sums[rows_in(Rows<R...>{}) * kWidth];
      for (size_t p = 0; p < NP; ++p) {
        widen(b + p * t.panel_stride + 8 * kPanel, count, weights + p * kWide);
      }
      in_pieces(rows, sizeof...(R), [&](size_t r, size_t height) {
        tile_of<NP, false>(height, all)(a + r * t.lda + k, t.lda, weights, kWide, kPanel, count,
                                        sums, kWidth, false, {});
        for (size_t i = 0; i < height; ++i) {
          float* to = tile + (r + i) * ld;
          for (size_t p = 0; p < NP; ++p) {
            add_group(sums + i * kWidth + p * kPanel, b + p * t.panel_stride,
                      scales[(r + i) * groups], k > 0, to + p * kPanel);
          }
        }
      });
      b += (8 + count) * kPanel;
    }
  }

  static void add_group(const float* sum, const char* head, const Int8Scale& s, bool accumulate,
                        float* to) {
    for (size_t n = 0; n < kPanel; n += kLanes) {
      Vec scale;
      IntVec excess;
      __builtin_memcpy(&scale, head + 4 * n, sizeof scale);
      __builtin_memcpy(&excess, head + 4 * (kPanel + n), sizeof excess);
      const Vec exact = load(sum + n) - __builtin_convertvector(excess, Vec) * s.zero;
      store(to + n, (accumulate ? load(to + n) : set1(0.f)) + exact * scale * s.scale);
    }
  }
};

}  // namespace

const GradientTable& gradient_kernels_plain() { return kGradientTable; }

const KernelTable& kernels_plain() {
  static const KernelTable table = table_with<Int8>(to_int8_floats, sizeof(float));
  return table;
}

}  // namespace bert
