#include "nn/attention_scores.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "ops/blas.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"
#include "ops/panels.h"

namespace bert::nn {
namespace {

/// Keys that are multiplied at once.
constexpr size_t kPanels = 6, kKeys = kPanels * kVectorsOfPanel;

/// scores = q k^T scale
void product_forward(ConstMatrix q, ConstMatrix k, float scale, Matrix scores, Buffer& scratch) {
  float* const panels = scratch.reserve(kKeys * (k.cols + q.rows));
  const Matrix products(panels + kKeys * k.cols, q.rows, kKeys);
  for (size_t first = 0; first < k.rows; first += kKeys) {
    const size_t keys = std::min(kKeys, k.rows - first);
    const size_t used = (keys + kVectorsOfPanel - 1) / kVectorsOfPanel;
    for (size_t p = 0; p < used; ++p) {
      const size_t begin = p * kVectorsOfPanel, count = std::min(kVectorsOfPanel, keys - begin);
      pack_panel(k.slice(first + begin, count), panels + begin * k.cols);
    }
    multiply_panels(q, panels, used, products);
    for (size_t i = 0; i < q.rows; ++i) {
      for (size_t j = 0; j < keys; ++j) scores.row(i)[first + j] = products.row(i)[j] * scale;
    }
  }
}

/// dq += scale d_scores k, dk += scale d_scores^T q
void product_backward(ConstMatrix q, ConstMatrix k, float scale, ConstMatrix d_scores, Matrix dq,
                      Matrix dk, Buffer& scratch) {
  const Matrix d = scratch.matrix(q.rows, k.rows);
  for (size_t i = 0; i < q.rows; ++i) {
    for (size_t j = 0; j < k.rows; ++j) d.row(i)[j] = d_scores.row(i)[j] * scale;
  }
  if (dq.data) {
    blas_gemm_nn(d.data, d.stride, k.data, k.stride, dq.data, dq.stride, q.rows, k.cols, k.rows, 1);
  }
  if (dk.data) {
    blas_gemm_tn(d.data, d.stride, q.data, q.stride, dk.data, dk.stride, k.rows, q.cols, q.rows, 1);
  }
}

/// |a - b|^2, from the differences: |a|^2 + |b|^2 - 2 a . b would lose digits of near vectors.
float squared_distance(const float* a, const float* b, size_t n) {
  constexpr size_t kLanes = 8;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) sums[l] += (a[i + l] - b[i + l]) * (a[i + l] - b[i + l]);
  }
  for (size_t l = 0; i < n; ++i, ++l) sums[l] += (a[i] - b[i]) * (a[i] - b[i]);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/// d score / d width = -width |q - k|^2. With s = d_scores width^2, dq += s k - sum_j s q, and
/// dk += s^T q - sum_i s k: products of matrices, and sums of rows and columns.
void gauss_backward(float width, ConstMatrix q, ConstMatrix k, ConstMatrix d_scores, float* d_width,
                    Matrix dq, Matrix dk, Buffer& scratch) {
  const auto axpy = gradient_kernels().axpy;
  double sum = 0;
  for (size_t i = 0; d_width && i < q.rows; ++i) {
    for (size_t j = 0; j < k.rows; ++j) {
      const float d = d_scores.row(i)[j];
      if (d != 0) sum += double{d} * squared_distance(q.row(i), k.row(j), q.cols);
    }
  }
  if (d_width) *d_width -= width * static_cast<float>(sum);
  if (!dq.data && !dk.data) return;
  const float scale = width * width;
  product_backward(q, k, scale, d_scores, dq, dk, scratch);
  std::vector<double> columns(k.rows);
  for (size_t i = 0; i < q.rows; ++i) {
    double row = 0;
    for (size_t j = 0; j < k.rows; ++j) {
      row += d_scores.row(i)[j];
      columns[j] += d_scores.row(i)[j];
    }
    if (dq.data) axpy(static_cast<float>(-scale * row), q.row(i), q.cols, dq.row(i));
  }
  for (size_t j = 0; dk.data && j < k.rows; ++j) {
    axpy(static_cast<float>(-scale * columns[j]), k.row(j), k.cols, dk.row(j));
  }
}

/// h = tanh(a + b)
void hidden_row(const float* a, const float* b, std::span<float> h) {
  for (size_t i = 0; i < h.size(); ++i) h[i] = a[i] + b[i];
  activate(Activation::tanh, h);
}

/// Squared distances become scores. They are never -0.
void gauss_forward(float width, Matrix scores) {
  for (size_t i = 0; i < scores.rows; ++i) {
    for (size_t j = 0; j < scores.cols; ++j) {
      scores.row(i)[j] = 0 - 0.5f * (width * width) * scores.row(i)[j];
    }
  }
}

float width_of(const ScoreWeights& weights) { return weights.width ? *weights.width : 1.f; }

float scale_of(Score score, ConstMatrix k) {
  return score == Score::dot ? 1.f : 1.f / std::sqrt(static_cast<float>(k.cols));
}

}  // namespace

ScoreWeights ScoreWeights::joint(Matrix w, size_t query_size, float* bias, float* v) {
  ScoreWeights weights;
  weights.query = {{w.data, w.rows, query_size, w.stride}, bias};
  weights.key = {{w.data + query_size, w.rows, w.cols - query_size, w.stride}, nullptr};
  weights.v = v;
  return weights;
}

void score_forward(Score score, const ScoreWeights& weights, ConstMatrix q, ConstMatrix k,
                   Matrix scores, ScoreBuffers& buffers) {
  if (score == Score::gauss) {
    squared_distances(q, k, scores);
    return gauss_forward(width_of(weights), scores);
  }
  if (!has_hidden_layer(score)) {
    return product_forward(q, k, scale_of(score, k), scores, buffers.scratch);
  }
  const size_t hidden = weights.key.weight.rows;
  const Matrix of_queries = buffers.query_hidden.matrix(q.rows, hidden);
  const Matrix of_keys = buffers.key_hidden.matrix(k.rows, hidden);
  linear_forward(weights.query, q, of_queries);
  linear_forward(weights.key, k, of_keys);
  hidden_scores_forward(weights.v, of_queries, of_keys, scores, buffers.scratch);
}

void score_backward(Score score, const ScoreWeights& weights, ConstMatrix q, ConstMatrix k,
                    ConstMatrix d_scores, const ScoreWeights& gradient, Matrix dq, Matrix dk,
                    ScoreBuffers& buffers) {
  if (score == Score::gauss) {
    return gauss_backward(width_of(weights), q, k, d_scores, gradient.width, dq, dk,
                          buffers.scratch);
  }
  if (!has_hidden_layer(score)) {
    return product_backward(q, k, scale_of(score, k), d_scores, dq, dk, buffers.scratch);
  }
  const size_t hidden = weights.key.weight.rows;
  const Matrix of_queries = buffers.query_hidden.matrix(q.rows, hidden);
  const Matrix of_keys = buffers.key_hidden.matrix(k.rows, hidden);
  const Matrix d_queries = buffers.d_query_hidden.matrix(q.rows, hidden);
  const Matrix d_keys = buffers.d_key_hidden.matrix(k.rows, hidden);
  std::fill_n(d_queries.data, q.rows * hidden, 0.f);
  std::fill_n(d_keys.data, k.rows * hidden, 0.f);
  hidden_scores_backward(weights.v, of_queries, of_keys, d_scores, gradient.v, d_queries, d_keys,
                         buffers.scratch);
  linear_backward(weights.query, q, d_queries, gradient.query, dq, true);
  linear_backward(weights.key, k, d_keys, gradient.key, dk, true);
}

void hidden_scores_forward(const float* v, ConstMatrix query_hidden, ConstMatrix key_hidden,
                           Matrix scores, Buffer& scratch) {
  const size_t hidden = key_hidden.cols;
  float* const h = scratch.reserve(hidden);
  for (size_t i = 0; i < query_hidden.rows; ++i) {
    for (size_t j = 0; j < key_hidden.rows; ++j) {
      hidden_row(query_hidden.row(i), key_hidden.row(j), {h, hidden});
      scores.row(i)[j] = dot(v, h, hidden);
    }
  }
}

// d hidden = d_score v (1 - tanh^2). The tanh are computed again: [n, m, A] of them would be kept.
void hidden_scores_backward(const float* v, ConstMatrix query_hidden, ConstMatrix key_hidden,
                            ConstMatrix d_scores, float* d_v, Matrix d_query_hidden,
                            Matrix d_key_hidden, Buffer& scratch) {
  const size_t hidden = key_hidden.cols;
  float* const h = scratch.reserve(hidden);
  for (size_t i = 0; i < query_hidden.rows; ++i) {
    for (size_t j = 0; j < key_hidden.rows; ++j) {
      const float d = d_scores.row(i)[j];
      if (d == 0) continue;  // of a masked pair
      hidden_row(query_hidden.row(i), key_hidden.row(j), {h, hidden});
      if (d_v) gradient_kernels().axpy(d, h, hidden, d_v);
      float *of_query = d_query_hidden.row(i), *of_key = d_key_hidden.row(j);
      for (size_t a = 0; a < hidden; ++a) {
        const float slope = d * v[a] * (1 - h[a] * h[a]);
        of_query[a] += slope;
        of_key[a] += slope;
      }
    }
  }
}

void squared_distances(ConstMatrix q, ConstMatrix k, Matrix out) {
  for (size_t i = 0; i < q.rows; ++i) {
    for (size_t j = 0; j < k.rows; ++j) {
      out.row(i)[j] = squared_distance(q.row(i), k.row(j), q.cols);
    }
  }
}

void softmax_rows(Matrix x) {
  for (size_t i = 0; i < x.rows; ++i) softmax({x.row(i), x.cols});
}

void softmax_rows_backward(ConstMatrix p, Matrix dp) {
  for (size_t i = 0; i < p.rows; ++i) {
    const float sum = dot(p.row(i), dp.row(i), p.cols);
    gradient_kernels().softmax_backward(p.row(i), p.cols, sum, 1.f, dp.row(i));
  }
}

}  // namespace bert::nn
