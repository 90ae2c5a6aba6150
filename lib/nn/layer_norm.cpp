#include "nn/layer_norm.h"

#include "ops/gradient_kernels.h"

namespace bert::nn {

void layer_norm_forward(const NormWeights& weights, float eps, ConstMatrix x, Matrix y,
                        Matrix statistics) {
  const GradientTable& table = gradient_kernels();
  for (size_t t = 0; t < x.rows; ++t) {
    table.layer_norm_keep(x.row(t), x.cols, weights.weight, weights.bias, eps, y.row(t),
                          statistics.row(t));
  }
}

void layer_norm_backward(const NormWeights& weights, ConstMatrix x, ConstMatrix statistics,
                         ConstMatrix dy, const NormWeights& gradient, Matrix dx) {
  const GradientTable& table = gradient_kernels();
  for (size_t t = 0; t < x.rows; ++t) {
    table.layer_norm_backward(x.row(t), x.cols, weights.weight, statistics.row(t), dy.row(t),
                              dx.row(t), gradient.weight, gradient.bias);
  }
}

}  // namespace bert::nn
