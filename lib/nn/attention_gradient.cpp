#include "nn/attention_gradient.h"

#include <algorithm>
#include <cmath>

#include "ops/blas.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::nn {
namespace {

/// Keys [first, last) of a sequence.
struct Seen {
  size_t first, last;
};

/// The keys that query i attends to.
Seen seen_by(const AttentionPlan& plan, const HeadView& h, size_t i) {
  const size_t first = i > plan.behind ? std::min(i - plan.behind, h.keys) : 0;
  size_t last = plan.causal ? std::min(i + 1, h.keys) : h.keys;
  if (plan.ahead < h.keys) last = std::min(last, i + plan.ahead + 1);
  return {first, std::max(first, last)};
}

uint64_t place_in_step(const AttentionPlan& plan, const HeadView& h, size_t i) {
  return (plan.dropout.row_0 + h.query_0 + i) * plan.num_attention_heads + h.head;
}

size_t key_heads(const AttentionPlan& plan) {
  return plan.num_key_value_heads > 0 ? plan.num_key_value_heads : plan.num_attention_heads;
}

template <typename Use>
void for_each_head(const AttentionPlan& plan, size_t width, Use use) {
  const size_t heads = plan.num_attention_heads, sharing = heads / key_heads(plan);
  for (size_t s = 0; s + 1 < plan.cu_queries.size(); ++s) {
    const size_t query_0 = plan.cu_queries[s], key_0 = plan.cu_keys[s];
    const size_t queries = plan.cu_queries[s + 1] - query_0;
    const size_t keys = plan.attended.empty() ? plan.cu_keys[s + 1] - key_0 : plan.attended[s];
    if (queries == 0) continue;
    for (size_t head = 0; head < heads; ++head) {
      use(HeadView{head, head / sharing, query_0, key_0, queries, keys, width / heads});
    }
  }
}

/// In a row of the bias or of its gradient: what query i of `h` has for its key 0.
template <typename AnyMatrix>
auto* bias_of(const AnyMatrix& bias, const HeadView& h, size_t i) {
  return bias.row(h.head) + bias.cols / 2 - i;
}

float scale_of(const AttentionPlan& plan, const HeadView& h) {
  return plan.scale > 0 ? plan.scale : 1.f / std::sqrt(static_cast<float>(h.size));
}

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
/// a^T b, or with `add` c + a^T b
void product_tn(const AttentionPlan& plan, ConstMatrix a, ConstMatrix b, Matrix c, bool add) {
  if (plan.bf16) return plan.bf16->tn(a, b, c, add);
  blas_gemm_tn(a.data, a.stride, b.data, b.stride, c.data, c.stride, a.cols, b.cols, a.rows,
               add ? 1.f : 0.f);
}

/// The scores of one head before their scale: q k^T and what is added to it.
Matrix scores_of(const AttentionPlan& plan, const HeadView& h, ConstMatrix q, ConstMatrix k,
                 AttentionBuffers& buffers) {
  const Matrix scores = buffers.scores.matrix(h.queries, h.keys);
  product_nt(plan, h.queries_of(q), h.keys_of(k), scores);
  for (size_t i = 0; plan.bias.data && i < h.queries; ++i) {
    gradient_kernels().axpy(1.f, bias_of(plan.bias, h, i), h.keys, scores.row(i));
  }
  if (plan.terms) plan.terms->add(h, h.queries_of(q), h.keys_of(k), scores);
  return scores;
}

/// Zeros where query i does not look.
void clear_unseen(const HeadView& h, const Seen& seen, float* row) {
  std::fill(row, row + seen.first, 0.f);
  std::fill(row + seen.last, row + h.keys, 0.f);
}

}  // namespace

void attention_forward(const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                       Matrix context, Matrix log_sums, AttentionBuffers& buffers) {
  const GradientTable& table = gradient_kernels();
  for_each_head(plan, q.cols, [&](const HeadView& h) {
    const Matrix p = scores_of(plan, h, q, k, buffers);
    for (size_t i = 0; i < h.queries; ++i) {
      const Seen seen = seen_by(plan, h, i);
      log_sums.row(h.head)[h.query_0 + i] =
          table.softmax_keep(p.row(i) + seen.first, seen.last - seen.first, scale_of(plan, h));
      clear_unseen(h, seen, p.row(i));
      if (plan.dropout.active()) {
        dropout_row(plan.dropout, place_in_step(plan, h, i), p.row(i), seen.last);
      }
    }
    product_nn(plan, p, h.keys_of(v), h.queries_of(context));
  });
}

namespace {

/// The probabilities of one head again, from the sums that the forward pass kept.
Matrix probabilities_again(const AttentionPlan& plan, const HeadView& h, ConstMatrix q,
                           ConstMatrix k, ConstMatrix log_sums, AttentionBuffers& buffers) {
  const Matrix p = scores_of(plan, h, q, k, buffers);
  for (size_t i = 0; i < h.queries; ++i) {
    const Seen seen = seen_by(plan, h, i);
    gradient_kernels().softmax_again(p.row(i) + seen.first, seen.last - seen.first,
                                     scale_of(plan, h), log_sums.row(h.head)[h.query_0 + i]);
    clear_unseen(h, seen, p.row(i));
  }
  return p;
}

/// No gradient where no query attends to.
void clear_unattended(const AttentionPlan& plan, Matrix dk, Matrix dv) {
  for (size_t s = 0; s < plan.attended.size(); ++s) {
    for (size_t t = plan.cu_keys[s] + plan.attended[s]; t < plan.cu_keys[s + 1]; ++t) {
      std::fill_n(dk.row(t), dk.cols, 0.f);
      std::fill_n(dv.row(t), dv.cols, 0.f);
    }
  }
}

/// Drops elements of a matrix of one head as the forward pass did.
void drop_again(const AttentionPlan& plan, const HeadView& h, Matrix m) {
  for (size_t i = 0; plan.dropout.active() && i < h.queries; ++i) {
    dropout_row(plan.dropout, place_in_step(plan, h, i), m.row(i), seen_by(plan, h, i).last);
  }
}

}  // namespace

// P are the probabilities, M is the dropout mask / (1 - rate), and O = (P M) V. Then:
//   dV = (P M)^T dO    dP = (dO V^T) M    dS = P (dP - sum_j P dP)    sum_j P dP = dO . O
void attention_backward(const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix context, ConstMatrix log_sums, ConstMatrix d_context, Matrix dq,
                        Matrix dk, Matrix dv, AttentionBuffers& buffers, Matrix d_bias) {
  const GradientTable& table = gradient_kernels();
  const size_t sharing = plan.num_attention_heads / key_heads(plan);
  clear_unattended(plan, dk, dv);
  for_each_head(plan, q.cols, [&](const HeadView& h) {
    const bool adds = h.head % sharing > 0;  // to keys and values of the head before
    const Matrix p = probabilities_again(plan, h, q, k, log_sums, buffers);
    const Matrix dp = buffers.gradients.matrix(h.queries, h.keys);
    const ConstMatrix o = h.queries_of(context), d_o = h.queries_of(d_context);
    if (plan.dropout.active()) {
      copy(p, dp);  // dp holds P M for a moment
      drop_again(plan, h, dp);
    }
    product_tn(plan, plan.dropout.active() ? dp : p, d_o, h.keys_of(dv), adds);
    product_nt(plan, d_o, h.keys_of(v), dp);
    drop_again(plan, h, dp);
    for (size_t i = 0; i < h.queries; ++i) {
      const float sum = dot(d_o.row(i), o.row(i), h.size);
      table.softmax_backward(p.row(i), h.keys, sum, scale_of(plan, h), dp.row(i));
      if (d_bias.data) table.axpy(1.f, dp.row(i), h.keys, bias_of(d_bias, h, i));
    }
    product_nn(plan, dp, h.keys_of(k), h.queries_of(dq));
    product_tn(plan, dp, h.queries_of(q), h.keys_of(dk), adds);
    if (plan.terms) {
      plan.terms->add_gradient(h, h.queries_of(q), h.keys_of(k), dp, h.queries_of(dq),
                               h.keys_of(dk));
    }
  });
}

}  // namespace bert::nn
