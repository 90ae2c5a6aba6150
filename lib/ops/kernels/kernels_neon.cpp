#if defined(__aarch64__)
#include <arm_neon.h>

#include "ops/gradient_kernels.h"
#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {
#include "ops/kernels/vec_neon.h"
// After the vector type, which it uses.
#include "ops/kernels/kernels_impl.h"
// After the kernels, which it uses.
#include "ops/kernels/gradient_kernels_impl.h"
inline Vec sqrt_v(Vec x) { return vsqrtq_f32(x); }

#include "ops/kernels/int8_floats_impl.h"
}  // namespace

const GradientTable& gradient_kernels_neon() { return kGradientTable; }

const KernelTable& kernels_neon() {
  static const KernelTable table = table_with<Int8>(to_int8_floats, sizeof(float));
  return table;
}

}  // namespace bert
#endif
