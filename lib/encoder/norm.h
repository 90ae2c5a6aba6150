#pragma once

#include <vector>

#include "checkpoint/weights.h"
#include "model/config.h"
#include "ops/matrix.h"

namespace bert {

/// Layer norm (Ba et al. 2016) with its weights; without a bias in some families. Or RMS norm
/// (Zhang and Sennrich 2019), which has none. Or weight and bias alone (Sun et al. 2020).
struct Norm {
  std::vector<float> weight;  ///< [H]
  std::vector<float> bias;    ///< [H], zeros where a model's layer norm has none; RMS norm: empty
  float eps = 0;
  NormKind kind = NormKind::layer;

  /// Throws Error(data) naming the tensor.
  static Norm load(const Config& config, const Weights& weights, Role role, size_t layer = 0);
  explicit operator bool() const { return !weight.empty(); }
  /// x [T, H] -> out [T, H], which may be the same.
  void operator()(ConstMatrix x, Matrix out) const;
};

}  // namespace bert
