#pragma once

#include <cstddef>
#include <cstdint>

namespace bert {

/// The numbers of one AdamW step that are the same for every element.
struct AdamWTask {
  float* value = nullptr;
  const float* gradient = nullptr;  ///< nullptr: all zero
  float* first = nullptr;           ///< moving mean of the gradient
  float* second = nullptr;          ///< and of its square
  size_t n = 0;
  float gradient_scale = 1;  ///< of clipping
  float beta1 = 0, beta2 = 0;
  float rest1 = 1, rest2 = 1;       ///< 1 - beta1, 1 - beta2, rounded once
  float keep = 1;                   ///< 1 - learning rate * weight decay
  float step = 0;                   ///< learning rate / (1 - beta1^t)
  float root_bias_correction2 = 1;  ///< sqrt(1 - beta2^t)
  float epsilon = 0;
};

/// What training needs besides KernelTable, per instruction set; see there.
struct GradientTable {
  /// dy = dy * act'(x), element by element.
  void (*activate_backward)(int activation, const float* x, size_t n, float* dy);
  /// As layer_norm, and keeps mean and 1 / sqrt(variance + eps) in statistics[0, 1].
  void (*layer_norm_keep)(const float* x, size_t n, const float* weight, const float* bias,
                          float eps, float* out, float* statistics);
  /// One row: dx from dy (they may be one), and d_weight, d_bias added to.
  void (*layer_norm_backward)(const float* x, size_t n, const float* weight,
                              const float* statistics, const float* dy, float* dx, float* d_weight,
                              float* d_bias);
  /// x = softmax(x * scale); returns log(sum(exp(x * scale))).
  float (*softmax_keep)(float* x, size_t n, float scale);
  /// x = exp(x * scale - log_sum): the softmax again.
  void (*softmax_again)(float* x, size_t n, float scale, float log_sum);
  /// dp = p * (dp - sum_j p_j dp_j) * scale, `sum` being that sum.
  void (*softmax_backward)(const float* p, size_t n, float sum, float scale, float* dp);
  /// y += a x
  void (*axpy)(float a, const float* x, size_t n, float* y);
  /// sum of x^2, in doubles every 1024 elements.
  double (*sum_squares)(const float* x, size_t n);
  void (*adamw)(const AdamWTask&);
  /// x[i] = 0 where a hash of key and i is below `dropped` (of 2^32), else x[i] * scale.
  void (*dropout)(uint64_t key, uint32_t dropped, float scale, float* x, size_t n);
};

/// The table of the best instruction set of this CPU, chosen once.
const GradientTable& gradient_kernels();

const GradientTable& gradient_kernels_plain();
const GradientTable& gradient_kernels_avx2();
const GradientTable& gradient_kernels_avx512();

}  // namespace bert
