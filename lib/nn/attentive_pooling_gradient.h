#pragma once

#include <cstddef>
#include <span>

#include "nn/linear_gradient.h"
#include "ops/matrix.h"

namespace bert::nn {

/// The parameters of attentive pooling (Lin et al. 2017, "A structured self-attentive sentence
/// embedding"), or their gradients. Not owned.
///
///   A = softmax(V tanh(W H^T))   [r, n], over the n tokens of a sequence, a row for each hop
///   C = A H                      [r, H]: r vectors of the sequence
struct PoolingWeights {
  LinearWeights hidden;  ///< W [size, H], no bias
  LinearWeights hops;    ///< V [r, size], no bias
};

/// What the forward pass keeps for the backward pass, and scratch. One per thread.
struct PoolingBuffers {
  Buffer linear, activated, scores;  ///< W h, its tanh [T, size]; V tanh(W h) [T, r]
  Buffer weights;                    ///< A of each sequence, end to end: [r, n] each
  Buffer d_scores, d_activated, d_weights, overlap;
};

/// hidden [T, H], sequence s being the tokens [begins[s], begins[s + 1]) -> pooled [S, r H], the
/// hops of a sequence side by side. All tokens count, also special ones.
void pooling_forward(const PoolingWeights& weights, std::span<const size_t> begins,
                     ConstMatrix hidden, Matrix pooled, PoolingBuffers& buffers);

/// From d_pooled = dL/dpooled, and the buffers of the forward pass with the same hidden states:
/// adds to `gradient`, and to d_hidden [T, H]. `penalty` P adds the gradient of the sum of
/// P |A A^T - I|^2 (Frobenius) over the sequences, which keeps the hops from being alike.
void pooling_backward(const PoolingWeights& weights, std::span<const size_t> begins,
                      ConstMatrix hidden, ConstMatrix d_pooled, float penalty,
                      const PoolingWeights& gradient, Matrix d_hidden, PoolingBuffers& buffers);

/// The sum of |A A^T - I|^2 over the sequences of the last forward pass.
double hop_overlap(const PoolingWeights& weights, std::span<const size_t> begins,
                   PoolingBuffers& buffers);

}  // namespace bert::nn
