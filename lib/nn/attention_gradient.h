#pragma once

#include <span>

#include "nn/bf16.h"
#include "nn/dropout.h"
#include "ops/matrix.h"

namespace bert::training {

/// Which rows attend to which: sequence s of the queries, rows [cu_queries[s], cu_queries[s + 1]),
/// attends to rows [cu_keys[s], cu_keys[s + 1]) of keys and values. Self-attention has one list
/// for both; cross-attention has the decoder's and the encoder's.
struct AttentionPlan {
  std::span<const size_t> cu_queries;  ///< [S + 1]
  std::span<const size_t> cu_keys;     ///< [S + 1]
  size_t num_attention_heads = 1;
  bool causal = false;           ///< row i of a sequence sees keys 0 .. i only
  Dropout dropout;               ///< of the probabilities
  Bf16Products* bf16 = nullptr;  ///< computes the products; nullptr: in float
};

struct AttentionBuffers {
  Buffer scores, gradients;  ///< [n, n] of one head of one sequence
};

/// Multi-head attention (Vaswani et al. 2017, 3.2) without its projections:
/// context = softmax(q k^T / sqrt(D)) v, head by head.
///
///   q [Tq, A D]   k, v [Tk, A D]   context [Tq, A D]; views with any stride
///   log_sums [A, Tq]: kept for the way back, which computes the probabilities again
void attention_forward(const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                       Matrix context, Matrix log_sums, AttentionBuffers& buffers);

/// From d_context: dq, dk, dv (written, not added to).
void attention_backward(const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix context, ConstMatrix log_sums, ConstMatrix d_context, Matrix dq,
                        Matrix dk, Matrix dv, AttentionBuffers& buffers);

}  // namespace bert::training
