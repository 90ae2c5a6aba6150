#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/matrix.h"

namespace bert::nn {

/// A linear classifier: logits = W x + b.
struct LinearClassifier {
  size_t classes = 0, width = 0;
  std::vector<double> weights;  ///< [classes, width]
  std::vector<double> biases;   ///< [classes]
};

/// The classifier that minimises |W|^2 / 2 + the sum of -log softmax(W x + b)[label] over the rows
/// of x [N, D]: LogisticRegression of scikit-learn with C = 1. Of two classes, as there, there is
/// one vector w, and the logits are -w x / 2 and w x / 2.
LinearClassifier fit_logistic(ConstMatrix x, std::span<const int32_t> labels, size_t classes);

}  // namespace bert::nn
