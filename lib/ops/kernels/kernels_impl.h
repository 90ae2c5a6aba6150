// The kernels, written once for all instruction sets: each kernels_*.cpp defines the vector type
// Vec with its functions, gemm tile sizes, and includes this file, inside namespace bert, in an
// anonymous namespace. No standard headers but <cstddef>, <cstdint>: see kernel_table.h.
//
// Every element is computed by one fixed sequence of operations, whatever surrounds it: tails use
// the same vector code on a part of a vector.

constexpr size_t kVecsPerPanel = kPanel / kLanes;

inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

#include "ops/kernels/rows_impl.h"
// In this order: each uses those before it.
#include "ops/kernels/gemm_impl.h"
//
#include "ops/kernels/convert_impl.h"
//
#include "ops/kernels/attention_impl.h"

/// The table of a set that has no products of bf16; K is gemm's for those of int8, and to_int8
/// writes values of `int8_bytes`.
template <typename K>
KernelTable table_with(void (*to_int8)(const float*, size_t, void*, Int8Scale*),
                       size_t int8_bytes) {
  KernelTable table = {pack_f32_impl, pack_bf16_impl,   pack_int8_impl,  gemm<F32>,
                       nullptr,       gemm<K>,          to_bf16_impl,    to_int8,
                       to_float_impl, bf16_to_f32_impl, gemm<Bf16AsF32>, layer_norm_impl,
                       add_impl,      multiply_impl,    activate_impl,   softmax_impl,
                       dot_impl,      attention_impl};
  table.int8_bytes = int8_bytes;
  return table;
}
