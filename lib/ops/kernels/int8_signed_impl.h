// Part of kernels_neon_{dotprod,i8mm}.cpp: products of signed bytes, as SDOT and SMMLA compute
// them.

using Ints = IntVec;
inline Ints load_ints(const char* p) {
  Ints ints;
  __builtin_memcpy(&ints, p, sizeof ints);
  return ints;
}
inline Vec floats_of(Ints x) { return __builtin_convertvector(x, Vec); }
using Int8Rows = TileRows;
// After Ints and its functions, which it uses.
#include "ops/kernels/int8_impl.h"

/// to_int8_impl with steps and zero 128 lower. The value is (step - zero) * scale, so the exact
/// sums are the same.
void to_int8_signed(const float* x, size_t k, void* out, Int8Scale* scales) {
  to_int8_impl(x, k, out, scales);
  char* to = static_cast<char*>(out);
  for (size_t i = 0; i < round_up(k, 4); ++i) to[i] = static_cast<char>(to[i] ^ 0x80);
  for (size_t g = 0; g < int8_groups(k); ++g) scales[g].zero -= 128;
}
