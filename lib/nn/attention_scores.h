#pragma once

#include <cstddef>

#include "nn/linear_gradient.h"
#include "ops/matrix.h"

namespace bert::nn {

/// Attention in three parts: scores of queries and keys, softmax, sum of the values. These are the
/// scores and their gradients, for queries q [n, Dq] and keys k [m, Dk]. Rows are vectors, so the
/// papers' W q is written q W^T here, as torch.nn.Linear does.

/// How well a query and a key fit: one number, a score.
///
///   dot         q . k                           Luong et al. 2015; wants Dq = Dk
///   scaled_dot  q . k / sqrt(Dk)                Vaswani et al. 2017; wants Dq = Dk
///   additive    v . tanh(W_q q + W_k k)         Bahdanau et al. 2014
///   concat      v . tanh(W [q; k])              Luong et al. 2015
///   perceptron  v . tanh(W [q; k] + b)          a net with one hidden layer
///   gauss       -(width |q - k|)^2 / 2          Nadaraya 1964, Watson 1964; wants Dq = Dk
enum class Score { dot, scaled_dot, additive, concat, perceptron, gauss };

/// Whether it is v . tanh(hidden), where hidden = W_q q + W_k k + b. With W = [W_q W_k], concat is
/// the same as additive, and perceptron the same with a bias.
constexpr bool has_hidden_layer(Score score) {
  return score == Score::additive || score == Score::concat || score == Score::perceptron;
}

/// The parameters of a score, or their gradients (same shapes). Not owned. A score uses those that
/// stand in its formula; the others may be empty.
struct ScoreWeights {
  LinearWeights query;     ///< W_q [A, Dq], and b [A] of perceptron
  LinearWeights key;       ///< W_k [A, Dk]
  float* v = nullptr;      ///< [A]
  float* width = nullptr;  ///< [1], of gauss; nullptr: 1 without a gradient

  /// Of one matrix W [A, Dq + Dk] as concat and perceptron have it. `bias` [A] or nullptr.
  static ScoreWeights joint(Matrix w, size_t query_size, float* bias, float* v);
};

/// What the forward pass keeps for the backward pass, and scratch. One per thread.
struct ScoreBuffers {
  Buffer query_hidden, key_hidden;      ///< W_q q + b [n, A], W_k k [m, A]
  Buffer d_query_hidden, d_key_hidden;  ///< their gradients
  Buffer scratch;
};

/// scores [n, m] = score(q_i, k_j). The products q . k and the sums over A have one order, so the
/// bits of a row depend only on its query and the keys; W_q q and W_k k are products of BLAS.
void score_forward(Score score, const ScoreWeights& weights, ConstMatrix q, ConstMatrix k,
                   Matrix scores, ScoreBuffers& buffers);

/// From d_scores = dL/dscores [n, m], and the buffers of the forward pass with the same q and k:
/// adds to `gradient` the sums over all pairs, and to dq [n, Dq] and dk [m, Dk] the gradients of
/// queries and keys. What has no data is left out.
void score_backward(Score score, const ScoreWeights& weights, ConstMatrix q, ConstMatrix k,
                    ConstMatrix d_scores, const ScoreWeights& gradient, Matrix dq, Matrix dk,
                    ScoreBuffers& buffers);

/// The part of the hidden layer alone, for a decoder: keys are the same at each step, so W_k k is
/// computed once.
///
///   scores [n, m] = v . tanh(query_hidden_i + key_hidden_j)
///   query_hidden [n, A]   key_hidden [m, A]   v [A]
///
/// The bits of a score depend only on its two rows.
void hidden_scores_forward(const float* v, ConstMatrix query_hidden, ConstMatrix key_hidden,
                           Matrix scores, Buffer& scratch);

/// Adds to d_v [A], d_query_hidden [n, A] and d_key_hidden [m, A]; d_v may be nullptr.
void hidden_scores_backward(const float* v, ConstMatrix query_hidden, ConstMatrix key_hidden,
                            ConstMatrix d_scores, float* d_v, Matrix d_query_hidden,
                            Matrix d_key_hidden, Buffer& scratch);

/// Each row of x becomes its softmax, computed after subtracting the maximum. A row of only -inf
/// becomes zeros.
void softmax_rows(Matrix x);

/// out [n, m] = |q_i - k_j|^2, from the differences: exact also where q and k are near. The bits of
/// a number depend only on its two rows.
void squared_distances(ConstMatrix q, ConstMatrix k, Matrix out);

/// From p = softmax(scores) and dp = dL/dp, both [n, m]: dp becomes dL/dscores.
void softmax_rows_backward(ConstMatrix p, Matrix dp);

}  // namespace bert::nn
