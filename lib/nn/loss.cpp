#include "nn/loss.h"

#include <algorithm>
#include <cmath>

#include "ops/gradient_kernels.h"

namespace bert::nn {

double cross_entropy(Matrix logits, std::span<const int32_t> labels,
                     std::span<const float> class_weights, float scale, size_t* right) {
  double loss = 0;
  for (size_t r = 0; r < logits.rows; ++r) {
    float* row = logits.row(r);
    if (labels[r] == kIgnored) {
      std::fill_n(row, logits.cols, 0.f);
      continue;
    }
    const auto label = static_cast<size_t>(labels[r]);
    const float weight = class_weights.empty() ? 1.f : class_weights[label];
    const double logit = row[label];
    const double log_sum = gradient_kernels().softmax_keep(row, logits.cols, 1.f);
    loss += weight * (log_sum - logit);
    if (right) {
      size_t higher = 0;
      for (size_t c = 0; c < logits.cols; ++c) higher += row[c] > row[label];
      *right += higher == 0;
    }
    row[label] -= 1.f;
    const float factor = weight * scale;
    for (size_t c = 0; c < logits.cols; ++c) row[c] *= factor;
  }
  return loss;
}

double smoothed_cross_entropy(Matrix logits, std::span<const int32_t> labels, float smoothing,
                              float scale, std::span<uint8_t> rights) {
  const auto classes = static_cast<double>(logits.cols);
  const float each = smoothing / static_cast<float>(logits.cols);
  double loss = 0;
  for (size_t r = 0; r < logits.rows; ++r) {
    float* row = logits.row(r);
    const auto label = static_cast<size_t>(labels[r]);
    const double logit = row[label];
    double sum = 0;
    for (size_t c = 0; smoothing > 0 && c < logits.cols; ++c) sum += row[c];
    rights[r] = std::none_of(row, row + logits.cols, [&](float x) { return x > row[label]; });
    const double log_sum = gradient_kernels().softmax_keep(row, logits.cols, 1.f);
    loss += log_sum - (1 - smoothing) * logit - smoothing * sum / classes;
    row[label] -= 1.f - smoothing;
    for (size_t c = 0; c < logits.cols; ++c) row[c] = (row[c] - each) * scale;
  }
  return loss;
}

double binary_cross_entropy(Matrix logits, ConstMatrix targets, float scale) {
  double loss = 0;
  for (size_t r = 0; r < logits.rows; ++r) {
    for (size_t c = 0; c < logits.cols; ++c) {
      const double x = logits.row(r)[c], y = targets.row(r)[c];
      // log(1 + e^x) - x y, without overflow
      loss += std::max(x, 0.) - x * y + std::log1p(std::exp(-std::abs(x)));
      logits.row(r)[c] = static_cast<float>((1 / (1 + std::exp(-x)) - y) * scale);
    }
  }
  return loss;
}

double squared_error(Matrix values, ConstMatrix targets, float scale) {
  double loss = 0;
  for (size_t r = 0; r < values.rows; ++r) {
    for (size_t c = 0; c < values.cols; ++c) {
      const double difference = static_cast<double>(values.row(r)[c]) - targets.row(r)[c];
      loss += difference * difference;
      values.row(r)[c] = static_cast<float>(2 * difference * scale);
    }
  }
  return loss;
}

}  // namespace bert::nn
