#pragma once

#include "ops/matrix.h"

namespace bert::nn {

/// The gain and shift of a norm, or their gradients; [H] each. A norm without a shift has no bias.
struct NormWeights {
  float* weight = nullptr;
  float* bias = nullptr;
};

/// What a norm computes.
struct NormPlan {
  float eps = 0;
  bool rms = false;     ///< x / sqrt(mean(x^2) + eps): no mean is taken away, and there is no shift
  float offset = 0;     ///< that the gain has beside its weight
  bool affine = false;  ///< x * weight + bias alone
};

/// y = (x - mean) / sqrt(variance + eps) * weight + bias, row by row (Ba et al. 2016).
///   x, y [T, H], not the same memory   statistics [T, 2]: for the backward pass
void layer_norm_forward(const NormWeights& weights, float eps, ConstMatrix x, Matrix y,
                        Matrix statistics);

/// Computes dx from dy (dx may be dy itself), and adds the gradients of gain and shift to
/// `gradient`.
void layer_norm_backward(const NormWeights& weights, ConstMatrix x, ConstMatrix statistics,
                         ConstMatrix dy, const NormWeights& gradient, Matrix dx);

/// The norm that `plan` says, and its way back: layer norm as above, RMS norm (Zhang and Sennrich
/// 2019), or weight and bias alone (Sun et al. 2020), which needs no statistics.
void norm_forward(const NormWeights& weights, const NormPlan& plan, ConstMatrix x, Matrix y,
                  Matrix statistics);
void norm_backward(const NormWeights& weights, const NormPlan& plan, ConstMatrix x,
                   ConstMatrix statistics, ConstMatrix dy, const NormWeights& gradient, Matrix dx);

}  // namespace bert::nn
