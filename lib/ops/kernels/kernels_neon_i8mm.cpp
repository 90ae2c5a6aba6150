#if defined(__ARM_FEATURE_MATMUL_INT8) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>

#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {
#include "ops/kernels/vec_neon.h"
// After the vector type, which it uses.
#include "ops/kernels/kernels_impl.h"
// After the kernels, which it uses.
#include "ops/kernels/int8_signed_impl.h"
// After Ints, which it uses.
#include "ops/kernels/mmla_impl.h"

inline Vec load_some(const float* p, size_t n) { return n == 0 ? set1(0.f) : load_n(p, n); }
/// Four values as bf16, in the lower half.
inline uint16x8_t halfs_of(Vec x) {
  uint16x8_t halfs;
  asm("bfcvtn %0.4h, %1.4s" : "=w"(halfs) : "w"(x));
  return halfs;
}
/// Stores pairs of bf16: `even` in the lower half of each lane, `odd` in the upper half.
inline void store_pairs(char* p, Vec even, Vec odd) {
  const uint16x8_t pairs = vzip1q_u16(halfs_of(even), halfs_of(odd));
  __builtin_memcpy(p, &pairs, sizeof pairs);
}
/// Stores two vectors, one behind the other, as bf16.
inline void store_halfs(uint16_t* p, Vec low, Vec high) {
  uint16x8_t halfs = halfs_of(low);
  asm("bfcvtn2 %0.8h, %1.4s" : "+w"(halfs) : "w"(high));
  __builtin_memcpy(p, &halfs, sizeof halfs);
}
inline void copy_halfs(uint16_t* to, const void* from, size_t n) {
  __builtin_memcpy(to, from, n * sizeof *to);
}
// After the functions above, which it uses.
#include "ops/kernels/bf16_impl.h"

void bf16_row_impl(const float* x, size_t k, uint16_t* out) {
  size_t i = 0;
  for (; i + 2 * kLanes <= k; i += 2 * kLanes) store_halfs(out + i, load(x + i), load(x + i + 4));
  if (i < k) to_bf16_impl(x + i, k - i, out + i);
}
}  // namespace

const KernelTable& kernels_neon_i8mm() {
  static const KernelTable table = [] {
    KernelTable i8mm = kernels_neon();
    i8mm.gemm_int8 = gemm<Whole<Int8<Smmla>>>;
    i8mm.to_int8 = to_int8_signed;
    i8mm.int8_bytes = 1;
    return i8mm;
  }();
  return table;
}

const KernelTable& kernels_neon_bf16() {
  static const KernelTable table = [] {
    KernelTable bf16 = kernels_neon_i8mm();
    set_bf16<gemm<Whole<Bfmmla>>>(bf16);
    bf16.to_bf16 = bf16_row_impl;
    return bf16;
  }();
  return table;
}

}  // namespace bert
#endif
