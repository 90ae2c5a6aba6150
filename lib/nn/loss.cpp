#include "nn/loss.h"

#include <algorithm>
#include <cmath>

#include "ops/gradient_kernels.h"

namespace bert::nn {

namespace {

/// One row of cross_entropy() with smoothing; `p` are the logits, then their gradient.
double smooth_row(float* p, size_t classes, size_t label, std::span<const float> class_weights,
                  float smoothing, float scale) {
  const auto weight = [&](size_t c) { return class_weights.empty() ? 1.f : class_weights[c]; };
  const float each = smoothing / static_cast<float>(classes);
  const float own = (1 - smoothing) * weight(label);
  double total = own, sum = own * static_cast<double>(p[label]);
  for (size_t c = 0; c < classes; ++c) {
    total += each * weight(c);
    sum += each * weight(c) * static_cast<double>(p[c]);
  }
  const double log_sum = gradient_kernels().softmax_keep(p, classes, 1.f);
  for (size_t c = 0; c < classes; ++c) {
    const float target = each * weight(c) + (c == label ? own : 0.f);
    p[c] = (p[c] * static_cast<float>(total) - target) * scale;
  }
  return total * log_sum - sum;
}

}  // namespace

double cross_entropy(Matrix logits, std::span<const int32_t> labels,
                     std::span<const float> class_weights, float scale, size_t* right,
                     float smoothing) {
  double loss = 0;
  for (size_t r = 0; r < logits.rows; ++r) {
    float* row = logits.row(r);
    if (labels[r] == kIgnored) {
      std::fill_n(row, logits.cols, 0.f);
      continue;
    }
    const auto label = static_cast<size_t>(labels[r]);
    if (smoothing > 0) {
      if (right)
        *right += static_cast<size_t>(std::max_element(row, row + logits.cols) - row) == label;
      loss += smooth_row(row, logits.cols, label, class_weights, smoothing, scale);
      continue;
    }
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

double distillation(Matrix logits, ConstMatrix teacher, std::span<const int32_t> labels,
                    float temperature, float scale) {
  const size_t classes = logits.cols;
  const double t = temperature;
  const auto log_sum = [&](const float* row) {
    const double highest = *std::max_element(row, row + classes);
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) sum += std::exp((row[c] - highest) / t);
    return highest / t + std::log(sum);
  };
  double loss = 0;
  for (size_t r = 0; r < logits.rows; ++r) {
    float* student = logits.row(r);
    if (labels[r] == kIgnored) {
      std::fill_n(student, classes, 0.f);
      continue;
    }
    const double of_student = log_sum(student), of_teacher = log_sum(teacher.row(r));
    for (size_t c = 0; c < classes; ++c) {
      const double log_q = teacher.row(r)[c] / t - of_teacher;
      const double log_p = student[c] / t - of_student;
      const double q = std::exp(log_q);
      if (q > 0) loss += t * t * q * (log_q - log_p);
      student[c] = static_cast<float>(t * (std::exp(log_p) - q) * scale);
    }
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
