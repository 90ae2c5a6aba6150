// The kernels, written once for all instruction sets: each kernels_*.cpp defines the vector type
// Vec with its functions, gemm tile sizes, and includes this file, inside namespace bert, in an
// anonymous namespace. No standard headers but <cstddef>, <cstdint>: see kernel_table.h.
//
// Every element is computed by one fixed sequence of operations, whatever surrounds it: tails use
// the same vector code on a part of a vector.

constexpr size_t kVecsPerPanel = kPanel / kLanes;

inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

#include "ops/rows_impl.h"
// In this order: each uses those before it.
#include "ops/gemm_impl.h"
//
#include "ops/convert_impl.h"
//
#include "ops/attention_impl.h"
