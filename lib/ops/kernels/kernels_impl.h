// The kernels, written once for all instruction sets. Each kernels_*.cpp defines the vector type
// Vec with its functions and the gemm tile sizes, then includes this file in an anonymous namespace
// of namespace bert. No standard headers but <cstddef> and <cstdint>: see kernel_table.h.
//
// One fixed sequence of operations computes every element, whatever its place in a row: the end of
// a row uses the same vector code on a part of a vector.

constexpr size_t kVecsPerPanel = kPanel / kLanes;

inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

#include "ops/kernels/rows_impl.h"
// The order matters: each file uses the files before it.
#include "ops/kernels/gemm_impl.h"
//
#include "ops/kernels/convert_impl.h"
//
#include "ops/kernels/attention_impl.h"
//
#include "ops/kernels/look_impl.h"

/// The table of a set without products of bf16. K computes products of int8; to_int8 writes values
/// of `int8_bytes`.
template <typename K>
KernelTable table_with(void (*to_int8)(const float*, size_t, void*, Int8Scale*),
                       size_t int8_bytes) {
  return {.pack_f32 = pack_f32_impl,
          .pack_bf16 = pack_bf16_impl,
          .pack_int8 = pack_int8_impl,
          .gemm_f32 = gemm<F32>,
          .gemm_bf16 = nullptr,
          .gemm_int8 = gemm<K>,
          .to_bf16 = to_bf16_impl,
          .to_int8 = to_int8,
          .to_float = to_float_impl,
          .bf16_to_f32 = bf16_to_f32_impl,
          .gemm_bf16_as_f32 = gemm<Bf16AsF32>,
          .layer_norm = layer_norm_impl,
          .rms_norm = rms_norm_impl,
          .add = add_impl,
          .multiply = multiply_impl,
          .activate = activate_impl,
          .softmax = softmax_impl,
          .max = row_max,
          .exp_sum = exp_sum_impl,
          .dot = dot_impl,
          .attention = attention_impl,
          .look = look_impl,
          .int8_bytes = int8_bytes};
}
