#pragma once

#include "ops/matrix.h"

namespace bert::nn {

/// The gain and shift of a layer norm, or their gradients; [H] each.
struct NormWeights {
  float* weight = nullptr;
  float* bias = nullptr;
};

/// y = (x - mean) / sqrt(variance + eps) * weight + bias, row by row (Ba et al. 2016).
///   x, y [T, H], not the same memory   statistics [T, 2]: for the backward pass
void layer_norm_forward(const NormWeights& weights, float eps, ConstMatrix x, Matrix y,
                        Matrix statistics);

/// Computes dx from dy (dx may be dy itself), and adds the gradients of gain and shift to
/// `gradient`.
void layer_norm_backward(const NormWeights& weights, ConstMatrix x, ConstMatrix statistics,
                         ConstMatrix dy, const NormWeights& gradient, Matrix dx);

}  // namespace bert::nn
