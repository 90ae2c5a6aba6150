// Vec for kernels_impl.h with NEON, for an anonymous namespace: vec_gcc.h with the instructions
// that GCC's vectors do not name.

#include "ops/kernels/vec_gcc.h"

inline Vec fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
/// A factor of all lanes stays one float, which fma takes from its register: copies of it to all
/// lanes would take the place of products. Assembly, because compilers make the copies.
inline float factor(float x) { return x; }
inline Vec fma(float x, Vec w, Vec c) {
  asm("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(c) : "w"(w), "w"(x));
  return c;
}

/// Stores whole numbers 0..255 as bytes.
template <typename Part>
inline void store_bytes(int8_t* p, Vec v, Part part) {
  const int16x4_t halfs = vmovn_s32(vcvtq_s32_f32(v));
  const int8x8_t bytes = vmovn_s16(vcombine_s16(halfs, halfs));
  __builtin_memcpy(p, &bytes, count_of(part));
}

template <int T>
inline Vec load_as(const std::byte* p) {
  if constexpr (T == 1) return load(reinterpret_cast<const float*>(p));
  uint16x4_t half;
  __builtin_memcpy(&half, p, sizeof half);
  if constexpr (T == 2) return vcvt_f32_f16(vreinterpret_f16_u16(half));
  return vreinterpretq_f32_u32(vshll_n_u16(half, 16));
}

using TileRows = Rows<1, 2, 3, 4, 5, 6>;
constexpr size_t kTilePanels = 1;
using OneTile = TileRows;
constexpr size_t kOneTilePanels = kTilePanels;
/// More rows: the sums would not stay in the registers.
using TileOfHalfs = Rows<1, 2, 3, 4, 5>;
using OneTileOfHalfs = TileOfHalfs;
using FewRows = Rows<1>;
constexpr size_t kFewPanels = 4;
