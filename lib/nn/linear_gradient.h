#pragma once

#include "nn/bf16.h"
#include "ops/matrix.h"

namespace bert::training {

/// The parameters of a fully connected layer, or their gradients (same shapes). Not owned.
struct LinearWeights {
  Matrix weight;          ///< [N, K], as torch.nn.Linear stores it
  float* bias = nullptr;  ///< [N], or nullptr
};

/// y = x W^T + b.   x [T, K]   y [T, N]   `bf16`: the product by these; nullptr: in float
void linear_forward(const LinearWeights& weights, ConstMatrix x, Matrix y,
                    Bf16Products* bf16 = nullptr);

/// From dy = dL/dy:  dx = dy W,  dW += dy^T x,  db += sum over rows of dy.
///   gradient  added to; `gradient.weight.data` nullptr: a frozen layer, nothing is added
///   dx        [T, K]; data nullptr: not wanted. With `add_to_dx` it is added to, else written.
void linear_backward(const LinearWeights& weights, ConstMatrix x, ConstMatrix dy,
                     const LinearWeights& gradient, Matrix dx, bool add_to_dx = false,
                     Bf16Products* bf16 = nullptr);

}  // namespace bert::training
