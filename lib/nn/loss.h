#pragma once

#include <cstdint>
#include <span>

#include "ops/matrix.h"

namespace bert::training {

/// Rows with this label have no loss and no gradient, as in PyTorch.
constexpr int32_t kIgnored = -100;

/// sum over rows of weight[label] * -log softmax(logits)[label]; `logits` becomes its gradient
/// times `scale` in place.
///   logits [M, C]   labels [M], in [0, C) or kIgnored   class_weights [C] or empty
/// A mean is the caller's: scale = 1 / number of rows (or sum of weights). `right` counts the rows
/// whose label has the highest logit.
double cross_entropy(Matrix logits, std::span<const int32_t> labels,
                     std::span<const float> class_weights, float scale, size_t* right = nullptr);

/// Sum over elements of the binary cross-entropy of sigmoid(logits) (several labels a text may be
/// true); `logits` becomes its gradient times `scale`.   targets [M, C], 0 to 1
double binary_cross_entropy(Matrix logits, ConstMatrix targets, float scale);

/// Sum over elements of (value - target)^2; `values` becomes its gradient times `scale`.
double squared_error(Matrix values, ConstMatrix targets, float scale);

}  // namespace bert::training
