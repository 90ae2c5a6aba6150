#pragma once

#include "ops/matrix.h"

namespace bert::nn {

/// Matrix products of floats rounded to bfloat16 (8 bits of precision) and summed in float: about
/// twice as fast as float products, on CPUs that have such kernels (AMX, AVX512-BF16 of AMD). Each
/// product rounds its operands and puts them in kernel order, since weights change with every step.
///
/// Thread rule: one per thread.
class Bf16Products {
 public:
  /// Whether this CPU has such kernels.
  static bool available();

  /// c [m, n] = a [m, k] b^T + bias, where b is [n, k], and bias is [n] or nullptr.
  void nt(ConstMatrix a, ConstMatrix b, const float* bias, Matrix c);
  /// c [m, n] = a [m, k] b [k, n]; with `add`, c += a b.
  void nn(ConstMatrix a, ConstMatrix b, Matrix c, bool add);
  /// c [m, n] = a^T b, where a is [k, m] and b is [k, n]; with `add`, c += a^T b.
  void tn(ConstMatrix a, ConstMatrix b, Matrix c, bool add);

 private:
  void round_rows(ConstMatrix a);
  void round_columns(ConstMatrix a);
  void pack_rows(ConstMatrix b);
  void pack_columns(ConstMatrix b);
  void multiply(size_t rows, size_t k, const float* bias, Matrix c, bool add);

  Buffer a_, b_;
};

}  // namespace bert::nn
