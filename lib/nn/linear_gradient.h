#pragma once

#include "nn/bf16.h"
#include "ops/matrix.h"

namespace bert::nn {

/// The parameters of a fully connected layer, or their gradients (same shapes). Not owned.
struct LinearWeights {
  Matrix weight;          ///< [N, K], as torch.nn.Linear stores it
  float* bias = nullptr;  ///< [N], or nullptr
};

/// y = x W^T + b.   x [T, K]   y [T, N]   `bf16` computes the product; nullptr: in float
void linear_forward(const LinearWeights& weights, ConstMatrix x, Matrix y,
                    Bf16Products* bf16 = nullptr);

/// From dy = dL/dy:  dx = dy W,  dW += dy^T x,  db += sum of the rows of dy.
///   gradient  the sums dW and db; one that is nullptr (it is frozen) is not computed
///   dx        [T, K]; not computed if its data is nullptr. With `add_to_dx`, dx += dy W.
void linear_backward(const LinearWeights& weights, ConstMatrix x, ConstMatrix dy,
                     const LinearWeights& gradient, Matrix dx, bool add_to_dx = false,
                     Bf16Products* bf16 = nullptr);

}  // namespace bert::nn
