#include "ops/gradient_kernels.h"
#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {

#include "ops/kernels/vec_gcc.h"
inline Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }
/// One factor of all lanes, for fma.
inline Vec factor(float x) { return set1(x); }

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

#include "ops/kernels/int8_floats_impl.h"
}  // namespace

const GradientTable& gradient_kernels_plain() { return kGradientTable; }

const KernelTable& kernels_plain() {
  static const KernelTable table = table_with<Int8>(to_int8_floats, sizeof(float));
  return table;
}

}  // namespace bert
