#include "nn/vector_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/blas.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::nn {

void unit_forward(ConstMatrix x, Matrix y, Matrix lengths) {
  for (size_t t = 0; t < x.rows; ++t) {
    const float length = std::max(std::sqrt(dot(x.row(t), x.row(t), x.cols)), 1e-12f);
    *lengths.row(t) = length;
    for (size_t i = 0; i < x.cols; ++i) y.row(t)[i] = x.row(t)[i] / length;
  }
}

void unit_backward(ConstMatrix y, ConstMatrix lengths, ConstMatrix dy, Matrix dx) {
  for (size_t t = 0; t < y.rows; ++t) {
    const float along = dot(y.row(t), dy.row(t), y.cols), length = *lengths.row(t);
    for (size_t i = 0; i < y.cols; ++i) {
      dx.row(t)[i] += (dy.row(t)[i] - along * y.row(t)[i]) / length;
    }
  }
}

namespace {

/// The texts of one column [R, D].
template <typename AnyMatrix>
AnyMatrix column(AnyMatrix x, size_t c, size_t columns) {
  return {x.row(c), x.rows / columns, x.cols, x.stride * columns};
}

/// log(sum(exp(x))) of n numbers that stand `step` apart, which become exp(x) / sum(exp(x)).
double log_sum_exp(float* x, size_t n, size_t step) {
  float largest = x[0];
  for (size_t i = 1; i < n; ++i) largest = std::max(largest, x[i * step]);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[i * step] - largest));
  const double log_sum = static_cast<double>(largest) + std::log(sum);
  for (size_t i = 0; i < n; ++i) {
    x[i * step] = static_cast<float>(std::exp(static_cast<double>(x[i * step]) - log_sum));
  }
  return log_sum;
}

/// unit [R C, D] -> scores [R, R (C - 1)] of first texts with all others, column by column.
void score_all(const VectorLossPlan& plan, ConstMatrix unit, Matrix scores) {
  const ConstMatrix q = column(unit, 0, plan.columns);
  for (size_t c = 1; c < plan.columns; ++c) {
    const ConstMatrix d = column(unit, c, plan.columns);
    const Matrix out = columns(scores, (c - 1) * q.rows, q.rows);
    blas_gemm_nt(q.data, q.stride, d.data, d.stride, out.data, out.stride, q.rows, d.rows, q.cols);
  }
  for (size_t r = 0; r < scores.rows; ++r) {
    for (size_t i = 0; i < scores.cols; ++i) scores.row(r)[i] *= plan.scale;
  }
}

/// The way back of score_all().
void score_all_backward(const VectorLossPlan& plan, ConstMatrix unit, Matrix d_scores, Matrix d) {
  const ConstMatrix q = column(unit, 0, plan.columns);
  const Matrix dq = column(d, 0, plan.columns);
  for (size_t r = 0; r < d_scores.rows; ++r) {
    for (size_t i = 0; i < d_scores.cols; ++i) d_scores.row(r)[i] *= plan.scale;
  }
  for (size_t c = 1; c < plan.columns; ++c) {
    const ConstMatrix docs = column(unit, c, plan.columns);
    const Matrix d_docs = column(d, c, plan.columns);
    const Matrix own = columns(d_scores, (c - 1) * q.rows, q.rows);
    blas_gemm_nn(own.data, own.stride, docs.data, docs.stride, dq.data, dq.stride, q.rows, q.cols,
                 q.rows, 1.f);
    blas_gemm_tn(own.data, own.stride, q.data, q.stride, d_docs.data, d_docs.stride, q.rows, q.cols,
                 q.rows, 1.f);
  }
}

/// Of unit vectors [R C, D]; writes their gradient to d.
double ranking_loss(const VectorLossPlan& plan, ConstMatrix unit, float weight, Matrix d,
                    size_t& right, VectorLossBuffers& buffers) {
  const size_t records = unit.rows / plan.columns;
  const Matrix p = buffers.scores.matrix(records, records * (plan.columns - 1));
  score_all(plan, unit, p);
  const double loss = ranking_entropy(plan, p, weight, d.data, right, buffers.columns);
  if (d.data) score_all_backward(plan, unit, p, d);
  return loss;
}

/// The gradient of each pair's cosine, from which that of its unit vectors is made.
void pair_backward(ConstMatrix unit, std::span<const double> d_cosines, Matrix d) {
  for (size_t r = 0; r < d_cosines.size(); ++r) {
    const auto factor = static_cast<float>(d_cosines[r]);
    gradient_kernels().axpy(factor, unit.row(2 * r + 1), unit.cols, d.row(2 * r));
    gradient_kernels().axpy(factor, unit.row(2 * r), unit.cols, d.row(2 * r + 1));
  }
}

std::vector<double> pair_cosines(ConstMatrix unit) {
  std::vector<double> cosines;
  for (size_t r = 0; r + 1 < unit.rows; r += 2) {
    cosines.push_back(static_cast<double>(dot(unit.row(r), unit.row(r + 1), unit.cols)));
  }
  return cosines;
}

// With s = scale cos:  log(1 + sum over targets t_i < t_j of exp(s_i - s_j))
double cosent_loss(const VectorLossPlan& plan, ConstMatrix unit, std::span<const float> targets,
                   float weight, Matrix d) {
  const auto scale = static_cast<double>(plan.scale);
  const std::vector<double> cosines = pair_cosines(unit);
  const size_t n = cosines.size();
  double largest = 0;
  const auto for_each = [&](auto use) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (targets[i] < targets[j]) use(i, j, scale * (cosines[i] - cosines[j]));
      }
    }
  };
  for_each([&](size_t, size_t, double x) { largest = std::max(largest, x); });
  double sum = std::exp(-largest);
  for_each([&](size_t, size_t, double x) { sum += std::exp(x - largest); });
  const double loss = largest + std::log(sum);
  if (!d.data) return loss;
  std::vector<double> d_cosines(n, 0);
  for_each([&](size_t i, size_t j, double x) {
    const double share = static_cast<double>(weight) * scale * std::exp(x - loss);
    d_cosines[i] += share;
    d_cosines[j] -= share;
  });
  pair_backward(unit, d_cosines, d);
  return loss;
}

double cosine_loss(ConstMatrix unit, std::span<const float> targets, float weight, Matrix d) {
  std::vector<double> cosines = pair_cosines(unit);
  const auto n = static_cast<double>(cosines.size());
  double loss = 0;
  for (size_t r = 0; r < cosines.size(); ++r) {
    const double difference = cosines[r] - static_cast<double>(targets[r]);
    loss += difference * difference / n;
    cosines[r] = static_cast<double>(weight) * 2 * difference / n;
  }
  if (d.data) pair_backward(unit, cosines, d);
  return loss;
}

/// |a - b| as torch's pairwise_distance, which adds 1e-6 to each difference.
double distance(const float* a, const float* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const double difference = static_cast<double>(a[i] - b[i] + 1e-6f);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

/// Adds factor times the gradient of distance().
void distance_backward(const float* a, const float* b, size_t n, double factor, float* da,
                       float* db) {
  for (size_t i = 0; i < n; ++i) {
    const auto d = static_cast<float>(factor * static_cast<double>(a[i] - b[i] + 1e-6f));
    da[i] += d;
    db[i] -= d;
  }
}

// mean of max(0, |a - p| - |a - n| + margin)
double triplet_loss(const VectorLossPlan& plan, ConstMatrix x, float weight, Matrix dx,
                    size_t& right) {
  const auto records = static_cast<double>(x.rows / 3);
  double loss = 0;
  for (size_t r = 0; r + 2 < x.rows; r += 3) {
    const float *a = x.row(r), *p = x.row(r + 1), *n = x.row(r + 2);
    const double near = distance(a, p, x.cols), far = distance(a, n, x.cols);
    right += near < far;
    const double own = near - far + static_cast<double>(plan.margin);
    if (own <= 0) continue;
    loss += own / records;
    if (!dx.data) continue;
    const double factor = static_cast<double>(weight) / records;
    distance_backward(a, p, x.cols, factor / std::max(near, 1e-12), dx.row(r), dx.row(r + 1));
    distance_backward(a, n, x.cols, -factor / std::max(far, 1e-12), dx.row(r), dx.row(r + 2));
  }
  return loss;
}

// mean of (x - t)^2 over all numbers
double teacher_loss(ConstMatrix x, std::span<const float> targets, size_t width, float weight,
                    Matrix dx) {
  const auto count = static_cast<double>(x.rows * x.cols);
  double loss = 0;
  for (size_t r = 0; r < x.rows; ++r) {
    for (size_t i = 0; i < x.cols; ++i) {
      const double difference = static_cast<double>(x.row(r)[i] - targets[r * width + i]);
      loss += difference * difference / count;
      if (!dx.data) continue;
      dx.row(r)[i] += static_cast<float>(static_cast<double>(weight) * 2 * difference / count);
    }
  }
  return loss;
}

}  // namespace

double ranking_entropy(const VectorLossPlan& plan, Matrix p, float weight, bool learns,
                       size_t& right, Buffer& scratch) {
  const size_t records = p.rows;
  const Matrix back = scratch.matrix(records, records);  // of second texts to first ones
  const float share = plan.symmetric ? 0.5f : 1.f;
  double loss = 0;
  for (size_t r = 0; r < records; ++r) {
    std::copy_n(p.row(r), records, back.row(r));
    right += std::max_element(p.row(r), p.row(r) + p.cols) == p.row(r) + r;
    loss -= static_cast<double>(p.row(r)[r]);
  }
  for (size_t r = 0; r < records; ++r) {
    loss += static_cast<double>(share) * log_sum_exp(p.row(r), p.cols, 1);
    if (plan.symmetric) loss += 0.5 * log_sum_exp(back.data + r, records, back.stride);
  }
  const float factor = weight / static_cast<float>(records);
  for (size_t r = 0; learns && r < records; ++r) {
    for (size_t i = 0; i < p.cols; ++i) {
      const float more = plan.symmetric && i < records ? 0.5f * back.row(r)[i] : 0.f;
      p.row(r)[i] = factor * (share * p.row(r)[i] + more - (i == r ? 1.f : 0.f));
    }
  }
  return loss / static_cast<double>(records);
}

double vector_loss(const VectorLossPlan& plan, ConstMatrix x, std::span<const float> targets,
                   size_t target_width, float weight, Matrix dx, size_t& right,
                   VectorLossBuffers& buffers) {
  if (plan.loss == VectorLoss::triplet) return triplet_loss(plan, x, weight, dx, right);
  if (plan.loss == VectorLoss::teacher) return teacher_loss(x, targets, target_width, weight, dx);
  const Matrix unit = buffers.unit.matrix(x.rows, x.cols);
  const Matrix lengths = buffers.lengths.matrix(x.rows, 1);
  unit_forward(x, unit, lengths);
  Matrix d;
  if (dx.data) d = buffers.d_unit.zeros(x.rows, x.cols);
  double loss = 0;
  if (plan.loss == VectorLoss::ranking) {
    loss = ranking_loss(plan, unit, weight, d, right, buffers);
  } else if (plan.loss == VectorLoss::cosent) {
    loss = cosent_loss(plan, unit, targets, weight, d);
  } else {
    loss = cosine_loss(unit, targets, weight, d);
  }
  if (dx.data) unit_backward(unit, lengths, d, dx);
  return loss;
}

}  // namespace bert::nn
