#include "nn/attentive_pooling_gradient.h"

#include <algorithm>

#include "nn/activation_gradient.h"
#include "nn/attention_scores.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::nn {
namespace {

struct Sequence {
  size_t begin, length;
  Matrix weights;  ///< A [r, n]
};

/// Calls use(s, sequence) for each.
template <typename Use>
void for_each_sequence(std::span<const size_t> begins, size_t hops, PoolingBuffers& buffers,
                       Use use) {
  float* weights = buffers.weights.data();
  for (size_t s = 0; s + 1 < begins.size(); ++s) {
    const size_t length = begins[s + 1] - begins[s];
    use(s, Sequence{begins[s], length, Matrix(weights, hops, length)});
    weights += hops * length;
  }
}

/// A A^T - I, [r, r].
Matrix overlap_of(ConstMatrix weights, Buffer& buffer) {
  const Matrix overlap = buffer.matrix(weights.rows, weights.rows);
  for (size_t a = 0; a < weights.rows; ++a) {
    for (size_t b = 0; b < weights.rows; ++b) {
      overlap.row(a)[b] = dot(weights.row(a), weights.row(b), weights.cols) - (a == b ? 1.f : 0.f);
    }
  }
  return overlap;
}

}  // namespace

void pooling_forward(const PoolingWeights& weights, std::span<const size_t> begins,
                     ConstMatrix hidden, Matrix pooled, PoolingBuffers& buffers) {
  const size_t size = weights.hidden.weight.rows, hops = weights.hops.weight.rows;
  const Matrix linear = buffers.linear.matrix(hidden.rows, size);
  linear_forward(weights.hidden, hidden, linear);
  const Matrix activated = buffers.activated.matrix(hidden.rows, size);
  activation_forward(Activation::tanh, linear, activated);
  const Matrix scores = buffers.scores.matrix(hidden.rows, hops);
  linear_forward(weights.hops, activated, scores);
  buffers.weights.matrix(hops, hidden.rows);
  for_each_sequence(begins, hops, buffers, [&](size_t s, const Sequence& sequence) {
    for (size_t r = 0; r < hops; ++r) {
      for (size_t t = 0; t < sequence.length; ++t) {
        sequence.weights.row(r)[t] = scores.row(sequence.begin + t)[r];
      }
    }
    softmax_rows(sequence.weights);
    std::fill_n(pooled.row(s), pooled.cols, 0.f);
    for (size_t r = 0; r < hops; ++r) {
      for (size_t t = 0; t < sequence.length; ++t) {
        gradient_kernels().axpy(sequence.weights.row(r)[t], hidden.row(sequence.begin + t),
                                hidden.cols, pooled.row(s) + r * hidden.cols);
      }
    }
  });
}

void pooling_backward(const PoolingWeights& weights, std::span<const size_t> begins,
                      ConstMatrix hidden, ConstMatrix d_pooled, float penalty,
                      const PoolingWeights& gradient, Matrix d_hidden, PoolingBuffers& buffers) {
  const size_t size = weights.hidden.weight.rows, hops = weights.hops.weight.rows, h = hidden.cols;
  const Matrix d_scores = buffers.d_scores.matrix(hidden.rows, hops);
  for_each_sequence(begins, hops, buffers, [&](size_t s, const Sequence& sequence) {
    const Matrix d_weights = buffers.d_weights.matrix(hops, sequence.length);
    for (size_t r = 0; r < hops; ++r) {
      const float* d_vector = d_pooled.row(s) + r * h;
      for (size_t t = 0; t < sequence.length; ++t) {
        d_weights.row(r)[t] = dot(d_vector, hidden.row(sequence.begin + t), h);
        gradient_kernels().axpy(sequence.weights.row(r)[t], d_vector, h,
                                d_hidden.row(sequence.begin + t));
      }
    }
    if (penalty > 0) {  // d |A A^T - I|^2 = 4 (A A^T - I) A
      const Matrix overlap = overlap_of(sequence.weights, buffers.overlap);
      for (size_t a = 0; a < hops; ++a) {
        for (size_t b = 0; b < hops; ++b) {
          gradient_kernels().axpy(4 * penalty * overlap.row(a)[b], sequence.weights.row(b),
                                  sequence.length, d_weights.row(a));
        }
      }
    }
    softmax_rows_backward(sequence.weights, d_weights);
    for (size_t t = 0; t < sequence.length; ++t) {
      for (size_t r = 0; r < hops; ++r) {
        d_scores.row(sequence.begin + t)[r] = d_weights.row(r)[t];
      }
    }
  });
  const Matrix d_activated = buffers.d_activated.matrix(hidden.rows, size);
  linear_backward(weights.hops, ConstMatrix(buffers.activated.data(), hidden.rows, size), d_scores,
                  gradient.hops, d_activated);
  activation_backward(Activation::tanh, ConstMatrix(buffers.linear.data(), hidden.rows, size),
                      d_activated);
  linear_backward(weights.hidden, hidden, d_activated, gradient.hidden, d_hidden, true);
}

double hop_overlap(const PoolingWeights& weights, std::span<const size_t> begins,
                   PoolingBuffers& buffers) {
  double sum = 0;
  for_each_sequence(
      begins, weights.hops.weight.rows, buffers, [&](size_t, const Sequence& sequence) {
        const Matrix overlap = overlap_of(sequence.weights, buffers.overlap);
        for (size_t a = 0; a < overlap.rows; ++a) {
          sum += static_cast<double>(dot(overlap.row(a), overlap.row(a), overlap.cols));
        }
      });
  return sum;
}

}  // namespace bert::nn
