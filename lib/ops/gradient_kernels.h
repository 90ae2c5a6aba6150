#pragma once

#include <cstddef>
#include <cstdint>

#include "base/export.h"

namespace bert {

/// One AdamW step of one array: its arrays, and the numbers that all elements share.
struct AdamWTask {
  float* value = nullptr;
  const float* gradient = nullptr;  ///< nullptr: all zero
  float* first = nullptr;           ///< moving mean of the gradient
  float* second = nullptr;          ///< moving mean of its square
  size_t n = 0;
  float gradient_scale = 1;  ///< the factor of gradient clipping
  float beta1 = 0, beta2 = 0;
  float rest1 = 1, rest2 = 1;       ///< 1 - beta1, 1 - beta2, rounded once
  float keep = 1;                   ///< 1 - learning rate * weight decay
  float step = 0;                   ///< learning rate / (1 - beta1^t)
  float root_bias_correction2 = 1;  ///< sqrt(1 - beta2^t)
  float epsilon = 0;
};

/// The kernels that training needs besides KernelTable; one table per instruction set.
struct GradientTable {
  /// dy = dy * act'(x), element by element.
  void (*activate_backward)(int activation, const float* x, size_t n, float* dy);
  /// layer_norm that also keeps the mean and 1 / sqrt(variance + eps), in statistics[0] and [1].
  /// Without a bias, `bias` and `d_bias` are nullptr.
  void (*layer_norm_keep)(const float* x, size_t n, const float* weight, const float* bias,
                          float eps, float* out, float* statistics);
  /// One row: computes dx from dy (both may be the same row), adds to d_weight and d_bias.
  void (*layer_norm_backward)(const float* x, size_t n, const float* weight,
                              const float* statistics, const float* dy, float* dx, float* d_weight,
                              float* d_bias);
  /// x = softmax(x * scale); returns log(sum(exp(x * scale))).
  float (*softmax_keep)(float* x, size_t n, float scale);
  /// x = exp(x * scale - log_sum): recomputes the softmax from softmax_keep's result.
  void (*softmax_again)(float* x, size_t n, float scale, float log_sum);
  /// dp = p * (dp - sum) * scale, where sum = sum_j p_j dp_j.
  void (*softmax_backward)(const float* p, size_t n, float sum, float scale, float* dp);
  /// y += a x
  void (*axpy)(float a, const float* x, size_t n, float* y);
  /// The sum of x^2; the sums of 1024 elements each are added in double.
  double (*sum_squares)(const float* x, size_t n);
  void (*adamw)(const AdamWTask&);
  /// x[i] = 0 if a 32-bit hash of key and i is below `dropped`, else x[i] * scale.
  void (*dropout)(uint64_t key, uint32_t dropped, float scale, float* x, size_t n);
};

/// The table of the best instruction set of this CPU, chosen once.
BERT_API const GradientTable& gradient_kernels();

const GradientTable& gradient_kernels_plain();
const GradientTable& gradient_kernels_neon();
const GradientTable& gradient_kernels_avx2();
const GradientTable& gradient_kernels_avx512();

}  // namespace bert
