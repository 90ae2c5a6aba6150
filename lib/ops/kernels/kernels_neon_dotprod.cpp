#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {
#include "ops/kernels/vec_neon.h"
// After the vector type, which it uses.
#include "ops/kernels/kernels_impl.h"

/// Four bytes of a row stay in one lane, from which SDOT takes them; see factor.
inline float four_bytes(const void* p) {
  float four;
  __builtin_memcpy(&four, p, sizeof four);
  return four;
}
// After the kernels, which it uses.
#include "ops/kernels/int8_signed_impl.h"

inline void multiply_add(Ints& sum, float x, Ints w) {
  asm("sdot %0.4s, %1.16b, %2.4b[0]" : "+w"(sum) : "w"(w), "w"(x));
}
}  // namespace

const KernelTable& kernels_neon_dotprod() {
  static const KernelTable table = [] {
    KernelTable dotprod = kernels_neon();
    dotprod.gemm_int8 = gemm<Whole<Int8<Fours<int8_t, multiply_add>>>>;
    dotprod.to_int8 = to_int8_signed;
    dotprod.int8_bytes = 1;
    return dotprod;
  }();
  return table;
}

}  // namespace bert
#endif
