#include "nn/activation_gradient.h"

#include <algorithm>

#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::nn {

void activation_forward(Activation act, ConstMatrix x, Matrix y) {
  for (size_t t = 0; t < x.rows; ++t) {
    std::copy_n(x.row(t), x.cols, y.row(t));
    activate(act, {y.row(t), y.cols});
  }
}

void activation_backward(Activation act, ConstMatrix x, Matrix dy) {
  const GradientTable& table = gradient_kernels();
  for (size_t t = 0; t < x.rows; ++t) {
    table.activate_backward(static_cast<int>(act), x.row(t), x.cols, dy.row(t));
  }
}

}  // namespace bert::nn
