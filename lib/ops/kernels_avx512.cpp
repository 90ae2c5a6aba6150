#if defined(__AVX512F__)
#include <immintrin.h>

#include "ops/gradient_kernels.h"
#include "ops/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {
#include "ops/vec_avx512.h"
// Follows the vector type.
#include "ops/kernels_impl.h"
// Follows the kernels it uses.
#include "ops/gradient_kernels_impl.h"
inline Vec sqrt_v(Vec x) { return _mm512_sqrt_ps(x); }
}  // namespace

const GradientTable& gradient_kernels_avx512() { return kGradientTable; }

const KernelTable& kernels_avx512() {
  // Without VNNI, AVX2 has all that int8 products need.
  static constexpr auto gemm_int8 = [](const GemmTask& t) { kernels_avx2().gemm_int8(t); };
  static const KernelTable table = {
      pack_f32_impl, pack_bf16_impl, pack_int8_impl,      gemm<F32>,     nullptr,
      gemm_int8,     to_bf16_impl,   to_int8_impl<false>, to_float_impl, layer_norm_impl,
      add_impl,      activate_impl,  softmax_impl,        dot_impl,      attention_impl};
  return table;
}

}  // namespace bert
#endif
