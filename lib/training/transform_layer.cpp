#include "training/transform_layer.h"

#include "nn/activation_gradient.h"

namespace bert::training {

ConstMatrix TransformLayer::forward(const Weights& w, Activation act, const nn::NormPlan& norm,
                                    ConstMatrix x, nn::Bf16Products* bf16) {
  x_ = x;
  if (!w.dense.weight.data) return x;
  const size_t rows = x.rows, width = w.dense.weight.rows;
  const Matrix dense = dense_.matrix(rows, width);
  nn::linear_forward(w.dense, x, dense, bf16);
  const Matrix activated = activated_.matrix(rows, width);
  nn::activation_forward(act, dense, activated);
  if (!w.norm.weight) return activated;
  const Matrix normal = normal_.matrix(rows, width);
  nn::norm_forward(w.norm, norm, activated, normal, statistics_.matrix(rows, 2));
  return normal;
}

void TransformLayer::backward(const Weights& w, Activation act, const nn::NormPlan& norm, Matrix d,
                              const Weights& gradient, Matrix dx, nn::Bf16Products* bf16) {
  if (!w.dense.weight.data) return copy(d, dx);
  const size_t rows = d.rows, width = w.dense.weight.rows;
  if (w.norm.weight) {
    nn::norm_backward(w.norm, norm, activated_.matrix(rows, width), statistics_.matrix(rows, 2), d,
                      gradient.norm, d);
  }
  nn::activation_backward(act, dense_.matrix(rows, width), d);
  nn::linear_backward(w.dense, x_, d, gradient.dense, dx, false, bf16);
}

}  // namespace bert::training
