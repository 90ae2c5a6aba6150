#include "nn/layer_norm.h"

#include <cmath>

#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::nn {

void layer_norm_forward(const NormWeights& weights, float eps, ConstMatrix x, Matrix y,
                        Matrix statistics) {
  const GradientTable& table = gradient_kernels();
  for (size_t t = 0; t < x.rows; ++t) {
    table.layer_norm_keep(x.row(t), x.cols, weights.weight, weights.bias, eps, y.row(t),
                          statistics.row(t));
  }
}

void layer_norm_backward(const NormWeights& weights, ConstMatrix x, ConstMatrix statistics,
                         ConstMatrix dy, const NormWeights& gradient, Matrix dx) {
  const GradientTable& table = gradient_kernels();
  for (size_t t = 0; t < x.rows; ++t) {
    table.layer_norm_backward(x.row(t), x.cols, weights.weight, statistics.row(t), dy.row(t),
                              dx.row(t), gradient.weight, gradient.bias);
  }
}

namespace {

// With r = 1 / sqrt(mean(x^2) + eps), which statistics[1] keeps:  y = x r (weight + offset).
void rms_norm_forward(const NormWeights& weights, const NormPlan& plan, ConstMatrix x, Matrix y,
                      Matrix statistics) {
  for (size_t t = 0; t < x.rows; ++t) {
    const float* from = x.row(t);
    const float mean = dot(from, from, x.cols) / static_cast<float>(x.cols);
    const float r = 1.f / std::sqrt(mean + plan.eps);
    statistics.row(t)[1] = r;
    for (size_t i = 0; i < x.cols; ++i) {
      y.row(t)[i] = from[i] * r * (weights.weight[i] + plan.offset);
    }
  }
}

// With x^ = x r and g = dy (weight + offset):  dx = r (g - x^ mean(g x^)).
void rms_norm_backward(const NormWeights& weights, const NormPlan& plan, ConstMatrix x,
                       ConstMatrix statistics, ConstMatrix dy, const NormWeights& gradient,
                       Matrix dx) {
  for (size_t t = 0; t < x.rows; ++t) {
    const float *from = x.row(t), *d = dy.row(t);
    const float r = statistics.row(t)[1];
    float sum = 0;
    for (size_t i = 0; i < x.cols; ++i) {
      sum += d[i] * (weights.weight[i] + plan.offset) * from[i] * r;
      gradient.weight[i] += d[i] * from[i] * r;
    }
    const float mean = sum / static_cast<float>(x.cols);
    for (size_t i = 0; i < x.cols; ++i) {
      dx.row(t)[i] = r * (d[i] * (weights.weight[i] + plan.offset) - from[i] * r * mean);
    }
  }
}

void affine_forward(const NormWeights& weights, ConstMatrix x, Matrix y) {
  for (size_t t = 0; t < x.rows; ++t) {
    for (size_t i = 0; i < x.cols; ++i) {
      y.row(t)[i] = x.row(t)[i] * weights.weight[i] + weights.bias[i];
    }
  }
}

void affine_backward(const NormWeights& weights, ConstMatrix x, ConstMatrix dy,
                     const NormWeights& gradient, Matrix dx) {
  for (size_t t = 0; t < x.rows; ++t) {
    const float *from = x.row(t), *d = dy.row(t);
    for (size_t i = 0; i < x.cols; ++i) {
      gradient.weight[i] += d[i] * from[i];
      gradient.bias[i] += d[i];
      dx.row(t)[i] = d[i] * weights.weight[i];
    }
  }
}

}  // namespace

void norm_forward(const NormWeights& weights, const NormPlan& plan, ConstMatrix x, Matrix y,
                  Matrix statistics) {
  if (plan.rms) return rms_norm_forward(weights, plan, x, y, statistics);
  if (plan.affine) return affine_forward(weights, x, y);
  layer_norm_forward(weights, plan.eps, x, y, statistics);
}

void norm_backward(const NormWeights& weights, const NormPlan& plan, ConstMatrix x,
                   ConstMatrix statistics, ConstMatrix dy, const NormWeights& gradient, Matrix dx) {
  if (plan.rms) return rms_norm_backward(weights, plan, x, statistics, dy, gradient, dx);
  if (plan.affine) return affine_backward(weights, x, dy, gradient, dx);
  layer_norm_backward(weights, x, statistics, dy, gradient, dx);
}

}  // namespace bert::nn
