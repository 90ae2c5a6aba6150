#include "nn/attention_gradient.h"

#include <algorithm>
#include <cmath>

#include "ops/blas.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::nn {
namespace {

/// One head of one sequence: its place in the matrices and its size.
struct Head {
  size_t head, query_0, key_0, queries, keys, size;

  ConstMatrix queries_of(ConstMatrix m) const {
    return {m.row(query_0) + head * size, queries, size, m.stride};
  }
  ConstMatrix keys_of(ConstMatrix m) const {
    return {m.row(key_0) + head * size, keys, size, m.stride};
  }
  Matrix queries_of(Matrix m) const {
    return {m.row(query_0) + head * size, queries, size, m.stride};
  }
  Matrix keys_of(Matrix m) const { return {m.row(key_0) + head * size, keys, size, m.stride}; }
  /// The number of keys that query i attends to.
  size_t seen(const AttentionPlan& plan, size_t i) const {
    return plan.causal ? std::min(i + 1, keys) : keys;
  }
  uint64_t dropout_row(const AttentionPlan& plan, size_t i) const {
    return (plan.dropout.row_0 + query_0 + i) * plan.num_attention_heads + head;
  }
};

template <typename Use>
void for_each_head(const AttentionPlan& plan, size_t width, Use use) {
  for (size_t s = 0; s + 1 < plan.cu_queries.size(); ++s) {
    const size_t query_0 = plan.cu_queries[s], key_0 = plan.cu_keys[s];
    const size_t queries = plan.cu_queries[s + 1] - query_0, keys = plan.cu_keys[s + 1] - key_0;
    if (queries == 0) continue;
    for (size_t head = 0; head < plan.num_attention_heads; ++head) {
      use(Head{head, query_0, key_0, queries, keys, width / plan.num_attention_heads});
    }
  }
}

/// In a row of the bias or of its gradient: what query i of `h` has for its key 0.
template <typename AnyMatrix>
auto* bias_of(const AnyMatrix& bias, const Head& h, size_t i) {
  return bias.row(h.head) + bias.cols / 2 - i;
}

/// Adds the bias of query i to its scores.
void add_bias(const AttentionPlan& plan, const Head& h, size_t i, size_t seen, float* scores) {
  if (plan.bias.data) gradient_kernels().axpy(1.f, bias_of(plan.bias, h, i), seen, scores);
}

float scale_of(const Head& head) { return 1.f / std::sqrt(static_cast<float>(head.size)); }

/// a b^T
void product_nt(const AttentionPlan& plan, ConstMatrix a, ConstMatrix b, Matrix c) {
  if (plan.bf16) return plan.bf16->nt(a, b, nullptr, c);
  blas_gemm_nt(a.data, a.stride, b.data, b.stride, c.data, c.stride, a.rows, b.rows, a.cols);
}
/// a b
void product_nn(const AttentionPlan& plan, ConstMatrix a, ConstMatrix b, Matrix c) {
  if (plan.bf16) return plan.bf16->nn(a, b, c, false);
  blas_gemm_nn(a.data, a.stride, b.data, b.stride, c.data, c.stride, a.rows, b.cols, a.cols);
}
/// a^T b
void product_tn(const AttentionPlan& plan, ConstMatrix a, ConstMatrix b, Matrix c) {
  if (plan.bf16) return plan.bf16->tn(a, b, c, false);
  blas_gemm_tn(a.data, a.stride, b.data, b.stride, c.data, c.stride, a.cols, b.cols, a.rows);
}

}  // namespace

void attention_forward(const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                       Matrix context, Matrix log_sums, AttentionBuffers& buffers) {
  const GradientTable& table = gradient_kernels();
  for_each_head(plan, q.cols, [&](const Head& h) {
    const Matrix p = buffers.scores.matrix(h.queries, h.keys);
    product_nt(plan, h.queries_of(q), h.keys_of(k), p);
    for (size_t i = 0; i < h.queries; ++i) {
      const size_t seen = h.seen(plan, i);
      add_bias(plan, h, i, seen, p.row(i));
      log_sums.row(h.head)[h.query_0 + i] = table.softmax_keep(p.row(i), seen, scale_of(h));
      std::fill(p.row(i) + seen, p.row(i) + h.keys, 0.f);
      if (plan.dropout.active()) {
        dropout_row(plan.dropout, h.dropout_row(plan, i), p.row(i), seen);
      }
    }
    product_nn(plan, p, h.keys_of(v), h.queries_of(context));
  });
}

// P are the probabilities, M is the dropout mask / (1 - rate), and O = (P M) V. Then:
//   dV = (P M)^T dO    dP = (dO V^T) M    dS = P (dP - sum_j P dP)    sum_j P dP = dO . O
void attention_backward(const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix context, ConstMatrix log_sums, ConstMatrix d_context, Matrix dq,
                        Matrix dk, Matrix dv, AttentionBuffers& buffers, Matrix d_bias) {
  const GradientTable& table = gradient_kernels();
  for_each_head(plan, q.cols, [&](const Head& h) {
    const Matrix p = buffers.scores.matrix(h.queries, h.keys);
    const Matrix dp = buffers.gradients.matrix(h.queries, h.keys);
    const ConstMatrix o = h.queries_of(context), d_o = h.queries_of(d_context);
    product_nt(plan, h.queries_of(q), h.keys_of(k), p);
    for (size_t i = 0; i < h.queries; ++i) {
      const size_t seen = h.seen(plan, i);
      add_bias(plan, h, i, seen, p.row(i));
      table.softmax_again(p.row(i), seen, scale_of(h), log_sums.row(h.head)[h.query_0 + i]);
      std::fill(p.row(i) + seen, p.row(i) + h.keys, 0.f);
    }
    if (plan.dropout.active()) {
      // dp holds P M for a moment.
      for (size_t i = 0; i < h.queries; ++i) {
        std::copy_n(p.row(i), h.keys, dp.row(i));
        dropout_row(plan.dropout, h.dropout_row(plan, i), dp.row(i), h.seen(plan, i));
      }
    }
    product_tn(plan, plan.dropout.active() ? dp : p, d_o, h.keys_of(dv));
    product_nt(plan, d_o, h.keys_of(v), dp);
    for (size_t i = 0; i < h.queries; ++i) {
      if (plan.dropout.active()) {
        dropout_row(plan.dropout, h.dropout_row(plan, i), dp.row(i), h.seen(plan, i));
      }
      const float sum = dot(d_o.row(i), o.row(i), h.size);
      table.softmax_backward(p.row(i), h.keys, sum, scale_of(h), dp.row(i));
      if (d_bias.data) table.axpy(1.f, dp.row(i), h.keys, bias_of(d_bias, h, i));
    }
    product_nn(plan, dp, h.keys_of(k), h.queries_of(dq));
    product_tn(plan, dp, h.queries_of(q), h.keys_of(dk));
  });
}

}  // namespace bert::nn
