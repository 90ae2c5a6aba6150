#include "attention_pool/pool_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nn/loss.h"
#include "nn/positions.h"
#include "ops/blas.h"
#include "ops/kernels.h"

namespace bert {
namespace {

/// Queries that are computed together; their weights, of each head, are kept for the gradient.
constexpr size_t kBlock = 64;

ConstMatrix with_positions(ConstMatrix x, Buffer& own) {
  const Matrix placed = own.matrix(x.rows, x.cols);
  copy(x, placed);
  nn::Sinusoids(x.cols, nn::SinusoidOrder::interleaved).add(0, placed);
  return placed;
}

/// x W^T + b, or x without W.
ConstMatrix project(const nn::LinearWeights& weights, ConstMatrix x, Buffer& out) {
  if (!weights.weight.data && !weights.bias) return x;
  const size_t size = weights.weight.data ? weights.weight.rows : x.cols;
  const Matrix y = out.matrix(x.rows, size);
  if (weights.weight.data) {
    nn::linear_forward(weights, x, y);
    return y;
  }
  for (size_t i = 0; i < x.rows; ++i) {
    for (size_t c = 0; c < size; ++c) y.row(i)[c] = x.row(i)[c] + weights.bias[c];
  }
  return y;
}

/// Adds the gradients of a projection.
void unproject(const nn::LinearWeights& weights, ConstMatrix x, ConstMatrix dy,
               const nn::LinearWeights& gradient) {
  if (weights.weight.data) return nn::linear_backward(weights, x, dy, gradient, {});
  if (!gradient.bias) return;
  for (size_t i = 0; i < dy.rows; ++i) {
    for (size_t c = 0; c < dy.cols; ++c) gradient.bias[c] += dy.row(i)[c];
  }
}

}  // namespace

/// One computation of loss and gradient.
struct PoolLoss::Pass {
  PoolWeights weights, gradient;
  ConstMatrix keys, values;  ///< [m, A], [m, B]
  Matrix d_keys, d_values;   ///< the same; d_values without data if it is not needed
  size_t hidden, mixed;      ///< A, B
  float scale;               ///< 1 / (n O)
};

PoolLoss::PoolLoss(const PoolForm& form, const LearnData& data) : form_(form), data_(data) {
  if (!form.positions) return;
  const bool shared = data.values.data == data.keys.data;
  data_.queries = with_positions(data.queries, placed_queries_);
  data_.keys = with_positions(data.keys, placed_keys_);
  if (shared) data_.values = data_.keys;
}

void PoolLoss::mask(size_t first, Matrix scores) const {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < scores.rows; ++i) {
    float* const row = scores.row(i);
    if (form_.causal) {
      std::fill(row + std::min(first + i + 1, scores.cols), row + scores.cols, kHidden);
    }
    if (form_.leave_one_out && first + i < scores.cols) row[first + i] = kHidden;
  }
}

/// |q - k|^2 [n, m] of one head, which are `known` after its forward pass: from the first pass on
/// they are kept, if queries and keys stay as they are and there is room.
ConstMatrix PoolLoss::distances(const Pass& pass, size_t head, size_t first, ConstMatrix q,
                                ConstMatrix k, bool known) {
  constexpr size_t kMost = size_t{1} << 28;  // numbers, 1 GiB
  const size_t all = data_.queries.rows, m = k.rows;
  const bool stays = !pass.weights.query.weight.data && !pass.weights.key.weight.data;
  if (!stays || m > kMost / form_.heads / all) {
    const Matrix some = squares_[head].matrix(q.rows, m);
    if (!known) nn::squared_distances(q, k, some);
    return some;
  }
  const Matrix kept = squares_[head].matrix(all, m).slice(first, q.rows);
  if (!known && !distances_known_) nn::squared_distances(q, k, kept);
  return kept;
}

/// The weights [n, m] of one head, which are kept.
ConstMatrix PoolLoss::forward_head(const Pass& pass, size_t head, size_t first,
                                   ConstMatrix queries) {
  const size_t size = pass.hidden / form_.heads;
  const Matrix weights = weights_[head].matrix(queries.rows, pass.keys.rows);
  const ConstMatrix q = columns(queries, head * size, size);
  const ConstMatrix k = columns(pass.keys, head * size, size);
  if (nn::has_hidden_layer(form_.score)) {
    const float* v = pass.weights.v ? pass.weights.v : ones_.data();
    nn::hidden_scores_forward(v + head * size, q, k, weights, scores_.scratch);
  } else if (form_.score == nn::Score::gauss) {
    const ConstMatrix squares = distances(pass, head, first, q, k, false);
    const float width = pass.weights.width ? *pass.weights.width : 1.f;
    for (size_t i = 0; i < weights.rows; ++i) {
      for (size_t j = 0; j < weights.cols; ++j) {
        weights.row(i)[j] = -0.5f * (width * width) * squares.row(i)[j];
      }
    }
  } else {
    nn::score_forward(form_.score, {}, q, k, weights, scores_);
  }
  mask(first, weights);
  nn::softmax_rows(weights);
  return weights;
}

/// From the gradient of the head's output [n, B / heads]: adds to those of queries, keys, values.
void PoolLoss::backward_head(const Pass& pass, size_t head, size_t first, ConstMatrix queries,
                             ConstMatrix d_mixed, Matrix d_queries) {
  const size_t n = queries.rows, m = pass.keys.rows;
  const size_t size = pass.hidden / form_.heads, width = pass.mixed / form_.heads;
  const Matrix weights(weights_[head].data(), n, m), d_weights = d_weights_.matrix(n, m);
  const ConstMatrix v = columns(pass.values, head * width, width);
  blas_gemm_nt(d_mixed.data, d_mixed.stride, v.data, v.stride, d_weights.data, m, n, m, width);
  if (pass.d_values.data) {
    const Matrix dv = columns(pass.d_values, head * width, width);
    blas_gemm_tn(weights.data, m, d_mixed.data, d_mixed.stride, dv.data, dv.stride, m, width, n, 1);
  }
  nn::softmax_rows_backward(weights, d_weights);
  const ConstMatrix q = columns(queries, head * size, size);
  const ConstMatrix k = columns(pass.keys, head * size, size);
  const Matrix dq = columns(d_queries, head * size, size);
  const Matrix dk = columns(pass.d_keys, head * size, size);
  if (nn::has_hidden_layer(form_.score)) {
    const float* of_scores = pass.weights.v ? pass.weights.v : ones_.data();
    float* const d_v = pass.gradient.v ? pass.gradient.v + head * size : nullptr;
    nn::hidden_scores_backward(of_scores + head * size, q, k, d_weights, d_v, dq, dk,
                               scores_.scratch);
    return;
  }
  nn::ScoreWeights score;
  score.width = pass.weights.width;
  if (form_.score == nn::Score::gauss && pass.gradient.width) {
    // d score / d width = -width |q - k|^2
    const ConstMatrix squares = distances(pass, head, first, q, k, true);
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      sum += dot(d_weights.row(i), squares.row(i), m);
    }
    *pass.gradient.width -= *score.width * static_cast<float>(sum);
  }
  // Nothing comes before queries and keys that are as they came.
  const bool query = pass.weights.query.weight.data, key = pass.weights.key.weight.data;
  if (query || key) {
    nn::score_backward(form_.score, score, q, k, d_weights, {}, query ? dq : Matrix(),
                       key ? dk : Matrix(), scores_);
  }
}

/// The sum of squared errors of some queries; adds to all gradients.
double PoolLoss::block(const Pass& pass, size_t first, size_t count) {
  const ConstMatrix x = data_.queries.slice(first, count);
  const ConstMatrix targets = data_.targets.slice(first, count);
  const ConstMatrix q = project(pass.weights.query, x, queries_);
  const size_t width = pass.mixed / form_.heads;
  const Matrix mixed = mixed_.matrix(count, pass.mixed);
  for (size_t head = 0; head < form_.heads; ++head) {
    const ConstMatrix weights = forward_head(pass, head, first, q);
    const ConstMatrix v = columns(pass.values, head * width, width);
    const Matrix to = columns(mixed, head * width, width);
    blas_gemm_nn(weights.data, weights.stride, v.data, v.stride, to.data, to.stride, count, width,
                 weights.cols);
  }
  const nn::LinearWeights output{pass.weights.output, nullptr},
      d_output{pass.gradient.output, nullptr};
  const Matrix error = output_.matrix(count, targets.cols);
  const ConstMatrix outputs = project(output, mixed, output_);
  if (outputs.data != error.data) std::copy_n(mixed.data, count * pass.mixed, error.data);
  const double loss = nn::squared_error(error, targets, pass.scale);
  ConstMatrix d_mixed = error;
  if (output.weight.data) {
    const Matrix back = d_mixed_.matrix(count, pass.mixed);
    nn::linear_backward(output, mixed, error, d_output, back);
    d_mixed = back;
  }
  const Matrix d_queries = d_queries_.zeros(count, pass.hidden);
  for (size_t head = 0; head < form_.heads; ++head) {
    backward_head(pass, head, first, q, columns(d_mixed, head * width, width), d_queries);
  }
  unproject(pass.weights.query, x, d_queries, pass.gradient.query);
  return loss;
}

double PoolLoss::operator()(PoolParameters& parameters, PoolParameters& gradient) {
  const size_t query_size = data_.queries.cols;
  Pass pass{{parameters, query_size}, {gradient, query_size}, {}, {}, {}, {}, 0, 0, 0};
  const nn::LinearWeights value{pass.weights.value, nullptr}, d_value{pass.gradient.value, nullptr};
  const nn::LinearWeights key{pass.weights.key.weight, nullptr};
  pass.keys = project(key, data_.keys, keys_);
  pass.values = project(value, data_.values, values_);
  pass.hidden = pass.keys.cols;
  pass.mixed = pass.values.cols;
  pass.d_keys = d_keys_.zeros(pass.keys.rows, pass.hidden);
  if (value.weight.data) pass.d_values = d_values_.zeros(pass.values.rows, pass.mixed);
  const auto numbers = static_cast<double>(data_.targets.rows * data_.targets.cols);
  pass.scale = static_cast<float>(1 / numbers);
  weights_.resize(form_.heads);
  squares_.resize(form_.heads);
  ones_.assign(pass.hidden, 1.f);
  double loss = 0;
  for (size_t first = 0; first < data_.queries.rows; first += kBlock) {
    loss += block(pass, first, std::min(kBlock, data_.queries.rows - first));
  }
  distances_known_ = true;
  unproject(key, data_.keys, pass.d_keys, {pass.gradient.key.weight, nullptr});
  unproject(value, data_.values, pass.d_values, d_value);
  return loss / numbers;
}

}  // namespace bert
