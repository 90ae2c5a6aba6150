#pragma once

#include <cstdint>
#include <span>

#include "nn/bf16.h"
#include "nn/dropout.h"
#include "ops/matrix.h"

namespace bert::nn {

/// One head of one sequence, in matrices of all: its queries are rows [query_0, query_0 + queries)
/// and columns [head D, (head + 1) D), and so are its keys and values, of their own head.
struct HeadView {
  size_t head = 0, key_head = 0, query_0 = 0, key_0 = 0, queries = 0, keys = 0;
  size_t size = 0;  ///< D

  ConstMatrix queries_of(ConstMatrix m) const {
    return {m.row(query_0) + head * size, queries, size, m.stride};
  }
  ConstMatrix keys_of(ConstMatrix m) const {
    return {m.row(key_0) + key_head * size, keys, size, m.stride};
  }
  Matrix queries_of(Matrix m) const {
    return {m.row(query_0) + head * size, queries, size, m.stride};
  }
  Matrix keys_of(Matrix m) const { return {m.row(key_0) + key_head * size, keys, size, m.stride}; }
};

/// Parts of the scores that depend on queries and keys in another way than by their product.
class ScoreTerms {
 public:
  virtual ~ScoreTerms() = default;
  /// Adds to the scores [queries, keys] of one head, before the scale; q [queries, D], k [keys, D].
  virtual void add(const HeadView& place, ConstMatrix q, ConstMatrix k, Matrix scores) = 0;
  /// Adds to dq and dk, and to gradients of its own, from d_scores.
  virtual void add_gradient(const HeadView& place, ConstMatrix q, ConstMatrix k,
                            ConstMatrix d_scores, Matrix dq, Matrix dk) = 0;
};

/// Which queries attend to which keys: rows [cu_queries[s], cu_queries[s + 1]) attend to rows
/// [cu_keys[s], cu_keys[s + 1]) of keys and values. In self-attention both lists are the same; in
/// cross-attention they are the decoder's and the encoder's.
struct AttentionPlan {
  std::span<const size_t> cu_queries;  ///< [S + 1]
  std::span<const size_t> cu_keys;     ///< [S + 1]
  size_t num_attention_heads = 1;
  bool causal = false;           ///< row i of a sequence attends only to keys 0 .. i
  Dropout dropout;               ///< dropout of the probabilities
  Bf16Products* bf16 = nullptr;  ///< computes the products; nullptr: in float
  /// [A, 2P - 1], no sequence longer than P, or without data: what is added to q k^T, before the
  /// scale, by distance. Column P - 1 + d is for a key that stands d rows behind the query.
  ConstMatrix bias = {};
  size_t num_key_value_heads = 0;  ///< K, of which A / K heads of queries share each; 0: A
  /// Query i attends only to keys i - behind .. i + ahead.
  size_t behind = SIZE_MAX, ahead = SIZE_MAX;
  float scale = 0;              ///< factor of the scores; 0: 1 / sqrt(D)
  ScoreTerms* terms = nullptr;  ///< borrowed; nullptr: none
  /// [S] How many keys of each sequence, its first, are attended to; empty: all.
  std::span<const size_t> attended = {};
};

struct AttentionBuffers {
  Buffer scores, gradients;  ///< [queries, keys] of one head and sequence
};

/// Multi-head attention (Vaswani et al. 2017, 3.2) without its projections:
/// context = softmax((q k^T + bias) / sqrt(D)) v, head by head.
///
///   q [Tq, A D]   k, v [Tk, K D]   context [Tq, A D]; views with any stride
///   log_sums [A, Tq]: log(sum(exp)) of each row, from which the backward pass recomputes softmax
void attention_forward(const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                       Matrix context, Matrix log_sums, AttentionBuffers& buffers);

/// Computes dq, dk and dv from d_context. Overwrites them, does not add. To d_bias, which has the
/// shape of plan.bias, it adds; without data it is left out.
void attention_backward(const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix context, ConstMatrix log_sums, ConstMatrix d_context, Matrix dq,
                        Matrix dk, Matrix dv, AttentionBuffers& buffers, Matrix d_bias = {});

}  // namespace bert::nn
