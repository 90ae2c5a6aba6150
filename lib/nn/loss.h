#pragma once

#include <cstdint>
#include <span>

#include "ops/matrix.h"

namespace bert::nn {

/// A row with this label has no loss and no gradient, as in PyTorch.
constexpr int32_t kIgnored = -100;

/// The sum over rows of weight[label] * -log softmax(logits)[label]. Replaces `logits` by their
/// gradient times `scale`.
///   logits [M, C]   labels [M], in [0, C) or kIgnored   class_weights [C] or empty
/// For a mean loss the caller sets scale = 1 / number of rows (or 1 / sum of weights). Adds to
/// `right` the number of rows whose label has the highest logit. With `smoothing` e the target is
/// 1 - e for the label, and e / C more for each of the C classes, each with its own weight, as in
/// PyTorch.
double cross_entropy(Matrix logits, std::span<const int32_t> labels,
                     std::span<const float> class_weights, float scale, size_t* right = nullptr,
                     float smoothing = 0);

/// The sum over rows of T^2 KL(softmax(teacher / T) || softmax(logits / T)) (Hinton et al. 2015).
/// A row whose label is kIgnored has neither loss nor gradient. Replaces `logits` by their gradient
/// times `scale`.   teacher [M, C]   labels [M]
double distillation(Matrix logits, ConstMatrix teacher, std::span<const int32_t> labels,
                    float temperature, float scale);

/// The same with label smoothing (Szegedy et al. 2016), as PyTorch has it: the target is 1 - e for
/// the label, and e / C more for each of the C classes. Adds to rights[r] of each row whose label
/// has the highest logit.   smoothing: e, in [0, 1)
double smoothed_cross_entropy(Matrix logits, std::span<const int32_t> labels, float smoothing,
                              float scale, std::span<uint8_t> rights);

/// The sum over elements of the binary cross-entropy of sigmoid(logits), for texts that may have
/// several labels. Replaces `logits` by their gradient times `scale`.   targets [M, C], 0 to 1
double binary_cross_entropy(Matrix logits, ConstMatrix targets, float scale);

/// The sum over elements of (value - target)^2. Replaces `values` by their gradient times `scale`.
double squared_error(Matrix values, ConstMatrix targets, float scale);

}  // namespace bert::nn
