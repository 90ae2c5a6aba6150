#include "training/sublayers.h"

#include <utility>

#include "nn/activation_gradient.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::training {

ConstMatrix SublayerEntry::forward(const nn::NormWeights& weights, const SublayerForm& form,
                                   ConstMatrix x) {
  norms_ = form.norms != NormPlace::after && weights.weight;
  entered_ = x;
  if (!norms_) return x;
  const Matrix normal = normal_.matrix(x.rows, x.cols);
  nn::norm_forward(weights, form.norm, x, normal, statistics_.matrix(x.rows, 2));
  return entered_ = normal;
}

Matrix SublayerEntry::gradient(Matrix d, SublayerScratch& scratch) const {
  return norms_ ? scratch.d_entered.zeros(d.rows, d.cols) : d;
}

void SublayerEntry::backward(const nn::NormWeights& weights, const SublayerForm& form,
                             ConstMatrix x, Matrix d_entered, Matrix d,
                             const nn::NormWeights& gradient) const {
  if (!norms_) return;
  nn::norm_backward(weights, form.norm, x, ConstMatrix(statistics_.data(), x.rows, 2), d_entered,
                    gradient, d_entered);
  add(d_entered, d);
}

namespace {

/// The norm at the exit of a sublayer.
template <typename Sublayer>
const nn::NormWeights& exit_norm(const Sublayer& weights, const SublayerForm& form) {
  return form.norms == NormPlace::around ? weights.exit_norm : weights.norm;
}

}  // namespace

Matrix SublayerExit::forward(const Weights& w, const SublayerForm& form, const nn::Dropout& drop,
                             ConstMatrix y, ConstMatrix x, SublayerScratch& scratch) {
  const size_t tokens = x.rows, h = x.cols;
  const Matrix output = output_.matrix(tokens, h);  // [T, H]
  if (form.norms == NormPlace::before) {
    nn::linear_forward(w.output, y, output, scratch.bf16);
    dropout(drop, output);
    add(x, output);
    return output;
  }
  const Matrix sum = sum_.matrix(tokens, h);  // [T, H]
  nn::linear_forward(w.output, y, sum, scratch.bf16);
  dropout(drop, sum);
  if (form.norms == NormPlace::after) add(x, sum);
  nn::norm_forward(w.norm, form.norm, sum, output, statistics_.matrix(tokens, 2));
  if (form.norms == NormPlace::around) add(x, output);
  return output;
}

void SublayerExit::backward(const Weights& w, const SublayerForm& form, const nn::Dropout& drop,
                            ConstMatrix y, Matrix d, Matrix dy, const Weights& gradient,
                            SublayerScratch& scratch) {
  const size_t tokens = d.rows, h = d.cols;
  const auto through_norm = [&](Matrix to) {
    nn::norm_backward(w.norm, form.norm, sum_.matrix(tokens, h), statistics_.matrix(tokens, 2), d,
                      gradient.norm, to);
  };
  const Matrix d_dense = scratch.d_dense.matrix(tokens, h);  // [T, H]
  // Behind a norm of the sum, d becomes the gradient of that sum, which is also the residual's.
  if (form.norms == NormPlace::after) through_norm(d);
  if (form.norms == NormPlace::around) {
    through_norm(d_dense);
  } else {
    copy(d, d_dense);
  }
  dropout(drop, d_dense);
  nn::linear_backward(w.output, y, d_dense, gradient.output, dy, false, scratch.bf16);
}

/// Query, key and value, or their gradients, in one matrix of self-attention or in two.
AttentionSublayer::Views AttentionSublayer::views(const AttentionWeights& weights, Buffer& query,
                                                  Buffer& pairs, size_t tokens, size_t states) {
  if (weights.qkv.weight.data) {
    const size_t all = weights.qkv.weight.rows, keys = weights.key_width, width = all - 2 * keys;
    const Matrix qkv = query.matrix(tokens, all);  // [T, (A + 2K) D]
    return {columns(qkv, 0, width), columns(qkv, width, keys), columns(qkv, width + keys, keys)};
  }
  const size_t width = weights.query.weight.rows;
  const Matrix kv = pairs.matrix(states, 2 * width);  // [U, 2H]
  return {query.matrix(tokens, width), columns(kv, 0, width), columns(kv, width, width)};
}

namespace {

/// Queries and keys of one token, head by head.
struct TokenHeads {
  Matrix queries, keys;  // [A, D], [K, D]
  size_t heads;          // A + K
};

TokenHeads heads_of(const AttentionWeights& w, Matrix qkv, size_t token, size_t size) {
  const size_t keys = w.key_width / size, queries = qkv.cols / size - 2 * keys;
  float* row = qkv.row(token);
  return {{row, queries, size}, {row + queries * size, keys, size}, queries + keys};
}

size_t turning(const AttentionWeights& w, size_t size) {
  return (w.qkv.weight.rows - w.key_width) / size;
}

}  // namespace

void AttentionSublayer::project(const AttentionWeights& w, const SublayerForm& form, ConstMatrix x,
                                SublayerScratch& scratch, const Turns& turns) {
  const size_t tokens = x.rows, all = w.qkv.weight.rows, size = w.head_size;
  const Matrix raw = query_.matrix(tokens, all);  // [T, (A + 2K) D]
  nn::linear_forward(w.qkv, x, raw, scratch.bf16);
  const auto [q, k, v] = views(w, query_, pairs_, tokens, tokens);
  for (const auto& [bias, part] : {std::pair(w.biases[0], q), {w.biases[1], k}, {w.biases[2], v}}) {
    for (size_t t = 0; bias && t < tokens; ++t) {
      gradient_kernels().axpy(1.f, bias, part.cols, part.row(t));
    }
  }
  const Matrix qkv = asked(w).matrix(tokens, all);
  if (w.query_norm.weight) {
    copy(raw, qkv);
    const size_t heads = turning(w, size);
    const Matrix statistics = statistics_.matrix(tokens * heads, 2);
    for (size_t t = 0; t < tokens; ++t) {
      const TokenHeads from = heads_of(w, raw, t, size), to = heads_of(w, qkv, t, size);
      const Matrix kept = statistics.slice(t * heads, heads);
      nn::norm_forward(w.query_norm, form.norm, from.queries, to.queries, kept);
      nn::norm_forward(w.key_norm, form.norm, from.keys, to.keys,
                       kept.slice(from.queries.rows, from.keys.rows));
    }
  }
  if (turns.rotary.theta <= 0) return;
  rotate(turns.rotary, {turning(w, size), size}, *turns.batch, qkv, scratch.turns, nullptr);
}

void AttentionSublayer::project_backward(const AttentionWeights& w, const SublayerForm& form,
                                         ConstMatrix x, const AttentionWeights& gradient,
                                         SublayerScratch& scratch, const Turns& turns) {
  const size_t tokens = x.rows, all = w.qkv.weight.rows, size = w.head_size;
  const Matrix d = scratch.d_query.matrix(tokens, all);  // [T, (A + 2K) D]
  if (turns.rotary.theta > 0) {
    rotate(turns.rotary, {turning(w, size), size}, *turns.batch, d, scratch.turns, nullptr, true);
  }
  if (w.query_norm.weight) {
    const Matrix raw = query_.matrix(tokens, all);
    const size_t heads = turning(w, size);
    const Matrix statistics = statistics_.matrix(tokens * heads, 2);
    for (size_t t = 0; t < tokens; ++t) {
      const TokenHeads from = heads_of(w, raw, t, size), to = heads_of(w, d, t, size);
      const Matrix kept = statistics.slice(t * heads, heads);
      nn::norm_backward(w.query_norm, form.norm, from.queries, kept, to.queries,
                        gradient.query_norm, to.queries);
      nn::norm_backward(w.key_norm, form.norm, from.keys,
                        kept.slice(from.queries.rows, from.keys.rows), to.keys, gradient.key_norm,
                        to.keys);
    }
  }
  const auto [dq, dk, dv] = views(w, scratch.d_query, scratch.d_pairs, tokens, tokens);
  for (const auto& [bias, part] :
       {std::pair(gradient.biases[0], dq), {gradient.biases[1], dk}, {gradient.biases[2], dv}}) {
    for (size_t t = 0; bias && t < tokens; ++t) {
      gradient_kernels().axpy(1.f, part.row(t), part.cols, bias);
    }
  }
}

Matrix AttentionSublayer::forward(const AttentionWeights& w, const nn::AttentionPlan& plan,
                                  const SublayerForm& form, const nn::Dropout& drop, ConstMatrix x,
                                  ConstMatrix states, SublayerScratch& scratch,
                                  const Turns& turns) {
  const size_t tokens = x.rows;
  const ConstMatrix entered = entry_.forward(w.norm, form, x);
  if (w.qkv.weight.data) {
    project(w, form, entered, scratch, turns);
  } else {
    const size_t width = w.query.weight.rows;
    nn::linear_forward(w.query, entered, query_.matrix(tokens, width), scratch.bf16);
    nn::linear_forward(w.pairs, states, pairs_.matrix(states.rows, 2 * width), scratch.bf16);
  }
  const auto [q, k, v] = views(w, asked(w), pairs_, tokens, states.rows);
  const Matrix context = context_.matrix(tokens, q.cols);  // [T, A D]
  nn::attention_forward(plan, q, k, v, context, log_sums_.matrix(plan.num_attention_heads, tokens),
                        scratch.attention);
  return exit_.forward({w.output, exit_norm(w, form)}, form, drop, context, x, scratch);
}

void AttentionSublayer::backward(const AttentionWeights& w, const nn::AttentionPlan& plan,
                                 const SublayerForm& form, const nn::Dropout& drop, ConstMatrix x,
                                 ConstMatrix states, Matrix d, Matrix d_states,
                                 const AttentionWeights& gradient, SublayerScratch& scratch,
                                 Matrix d_bias, const Turns& turns) {
  const size_t tokens = d.rows;
  const auto [q, k, v] = views(w, asked(w), pairs_, tokens, states.rows);
  const ConstMatrix context = context_.matrix(tokens, q.cols);
  const Matrix d_context = scratch.d_context.matrix(tokens, q.cols);  // [T, A D]
  exit_.backward({w.output, exit_norm(w, form)}, form, drop, context, d, d_context,
                 {gradient.output, exit_norm(gradient, form)}, scratch);

  const auto [dq, dk, dv] = views(w, scratch.d_query, scratch.d_pairs, tokens, states.rows);
  nn::attention_backward(plan, q, k, v, context, log_sums_.matrix(plan.num_attention_heads, tokens),
                         d_context, dq, dk, dv, scratch.attention, d_bias);
  const ConstMatrix entered = entry_.entered();
  const Matrix d_entered = entry_.gradient(d, scratch);
  if (w.qkv.weight.data) {
    project_backward(w, form, entered, gradient, scratch, turns);
    nn::linear_backward(w.qkv, entered, scratch.d_query.matrix(tokens, w.qkv.weight.rows),
                        gradient.qkv, d_entered, true, scratch.bf16);
  } else {
    nn::linear_backward(w.query, entered, dq, gradient.query, d_entered, true, scratch.bf16);
    nn::linear_backward(w.pairs, states, scratch.d_pairs.matrix(states.rows, 2 * q.cols),
                        gradient.pairs, d_states, true, scratch.bf16);
  }
  entry_.backward(w.norm, form, x, d_entered, d, gradient.norm);
}

Matrix FeedForwardSublayer::forward(const FeedForwardWeights& w, const SublayerForm& form,
                                    const nn::Dropout& drop, ConstMatrix x,
                                    SublayerScratch& scratch) {
  const size_t tokens = x.rows, all = w.intermediate.weight.rows, i = form.gated ? all / 2 : all;
  const ConstMatrix entered = entry_.forward(w.norm, form, x);
  const Matrix intermediate = intermediate_.matrix(tokens, all);  // [T, I] or [T, 2I]
  nn::linear_forward(w.intermediate, entered, intermediate, scratch.bf16);
  const Matrix activated = activated_.matrix(tokens, i);  // [T, I]
  nn::activation_forward(form.act, columns(intermediate, 0, i), activated);
  Matrix inner = activated;
  if (form.gated) {
    inner = product_.matrix(tokens, i);
    for (size_t t = 0; t < tokens; ++t) {
      const float *gate = activated.row(t), *up = intermediate.row(t) + i;
      for (size_t n = 0; n < i; ++n) inner.row(t)[n] = gate[n] * up[n];
    }
  }
  return exit_.forward({w.output, exit_norm(w, form)}, form, drop, inner, x, scratch);
}

void FeedForwardSublayer::backward(const FeedForwardWeights& w, const SublayerForm& form,
                                   const nn::Dropout& drop, ConstMatrix x, Matrix d,
                                   const FeedForwardWeights& gradient, SublayerScratch& scratch) {
  const size_t tokens = d.rows, all = w.intermediate.weight.rows, i = form.gated ? all / 2 : all;
  const Matrix intermediate = intermediate_.matrix(tokens, all);
  const Matrix inner = (form.gated ? product_ : activated_).matrix(tokens, i);
  const Matrix d_wide = scratch.d_wide.matrix(tokens, all);  // [T, I] or [T, 2I]
  const Matrix d_inner = form.gated ? scratch.d_gated.matrix(tokens, i) : d_wide;
  exit_.backward({w.output, exit_norm(w, form)}, form, drop, inner, d, d_inner,
                 {gradient.output, exit_norm(gradient, form)}, scratch);
  for (size_t t = 0; form.gated && t < tokens; ++t) {
    const float *gate = activated_.matrix(tokens, i).row(t), *up = intermediate.row(t) + i;
    float *d_gate = d_wide.row(t), *d_up = d_gate + i;
    const float* from = d_inner.row(t);
    for (size_t n = 0; n < i; ++n) d_gate[n] = from[n] * up[n];
    for (size_t n = 0; n < i; ++n) d_up[n] = from[n] * gate[n];
  }
  nn::activation_backward(form.act, columns(intermediate, 0, i), columns(d_wide, 0, i));
  const Matrix d_entered = entry_.gradient(d, scratch);
  nn::linear_backward(w.intermediate, entry_.entered(), d_wide, gradient.intermediate, d_entered,
                      true, scratch.bf16);
  entry_.backward(w.norm, form, x, d_entered, d, gradient.norm);
}

}  // namespace bert::training
