#include "nn/linear_gradient.h"

#include <algorithm>

#include "ops/blas.h"
#include "ops/gradient_kernels.h"

namespace bert::nn {

void linear_forward(const LinearWeights& weights, ConstMatrix x, Matrix y, Bf16Products* bf16) {
  const Matrix& w = weights.weight;
  if (x.rows == 0) return;
  if (bf16) return bf16->nt(x, w, weights.bias, y);
  if (weights.bias) {
    for (size_t t = 0; t < y.rows; ++t) std::copy_n(weights.bias, y.cols, y.row(t));
  }
  blas_gemm_nt(x.data, x.stride, w.data, w.stride, y.data, y.stride, x.rows, w.rows, w.cols,
               weights.bias ? 1.f : 0.f);
}

void linear_backward(const LinearWeights& weights, ConstMatrix x, ConstMatrix dy,
                     const LinearWeights& gradient, Matrix dx, bool add_to_dx, Bf16Products* bf16) {
  const Matrix& w = weights.weight;
  if (dy.rows == 0) return;
  if (dx.data && bf16) {
    bf16->nn(dy, w, dx, add_to_dx);
  } else if (dx.data) {
    blas_gemm_nn(dy.data, dy.stride, w.data, w.stride, dx.data, dx.stride, dy.rows, w.cols, w.rows,
                 add_to_dx ? 1.f : 0.f);
  }
  if (gradient.weight.data && bf16) {
    bf16->tn(dy, x, gradient.weight, true);
  } else if (gradient.weight.data) {
    blas_gemm_tn(dy.data, dy.stride, x.data, x.stride, gradient.weight.data, gradient.weight.stride,
                 w.rows, w.cols, dy.rows, 1.f);
  }
  if (!gradient.bias) return;
  for (size_t t = 0; t < dy.rows; ++t) {
    gradient_kernels().axpy(1.f, dy.row(t), dy.cols, gradient.bias);
  }
}

}  // namespace bert::nn
