#pragma once

#include "ops/matrix.h"

namespace bert::training {

/// Matrix products of floats rounded to bfloat16, summed in float: about twice as fast as float
/// where the kernels have them (AMX, AVX512-BF16 of AMD), with 8 bits of precision. Operands are
/// rounded and put in kernel order anew for each product, since weights change with every step.
///
/// Thread rule: one per thread.
class Bf16Products {
 public:
  /// Whether the kernels of this CPU have them.
  static bool available();

  /// c [m, n] = a [m, k] b^T + bias, b being [n, k]; bias [n] or nullptr.
  void nt(ConstMatrix a, ConstMatrix b, const float* bias, Matrix c);
  /// c [m, n] = a [m, k] b [k, n], or added to c.
  void nn(ConstMatrix a, ConstMatrix b, Matrix c, bool add);
  /// c [m, n] = a^T b, a being [k, m] and b [k, n], or added to c.
  void tn(ConstMatrix a, ConstMatrix b, Matrix c, bool add);

 private:
  void round_rows(ConstMatrix a);
  void round_columns(ConstMatrix a);
  void pack_rows(ConstMatrix b);
  void pack_columns(ConstMatrix b);
  void multiply(size_t rows, size_t k, const float* bias, Matrix c, bool add);

  Buffer a_, b_;
};

}  // namespace bert::training
