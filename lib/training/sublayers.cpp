#include "training/sublayers.h"

#include <algorithm>

#include "nn/activation_gradient.h"
#include "ops/kernels.h"

namespace bert::training {

Matrix SublayerExit::forward(const Weights& w, float norm_eps, const nn::Dropout& drop,
                             ConstMatrix y, ConstMatrix x, SublayerScratch& scratch) {
  const size_t tokens = x.rows, h = x.cols;
  const Matrix sum = sum_.matrix(tokens, h);  // [T, H]
  nn::linear_forward(w.output, y, sum, scratch.bf16);
  dropout(drop, sum);
  add(x, sum);
  const Matrix output = output_.matrix(tokens, h);  // [T, H]
  nn::layer_norm_forward(w.norm, norm_eps, sum, output, statistics_.matrix(tokens, 2));
  return output;
}

void SublayerExit::backward(const Weights& w, const nn::Dropout& drop, ConstMatrix y, Matrix d,
                            Matrix dy, const Weights& gradient, SublayerScratch& scratch) {
  const size_t tokens = d.rows, h = d.cols;
  // d becomes the gradient of the sum before the norm, which is also that of the residual.
  nn::layer_norm_backward(w.norm, sum_.matrix(tokens, h), statistics_.matrix(tokens, 2), d,
                          gradient.norm, d);
  const Matrix d_dense = scratch.d_dense.matrix(tokens, h);  // [T, H]
  copy(d, d_dense);
  dropout(drop, d_dense);
  nn::linear_backward(w.output, y, d_dense, gradient.output, dy, false, scratch.bf16);
}

/// Query, key and value, or their gradients, in one matrix of self-attention or in two.
AttentionSublayer::Views AttentionSublayer::views(const AttentionWeights& weights, Buffer& query,
                                                  Buffer& pairs, size_t tokens, size_t states,
                                                  size_t width) {
  if (weights.qkv.weight.data) {
    const Matrix qkv = query.matrix(tokens, 3 * width);  // [T, 3H]
    return {columns(qkv, 0, width), columns(qkv, width, width), columns(qkv, 2 * width, width)};
  }
  const Matrix kv = pairs.matrix(states, 2 * width);  // [U, 2H]
  return {query.matrix(tokens, width), columns(kv, 0, width), columns(kv, width, width)};
}

Matrix AttentionSublayer::forward(const AttentionWeights& w, const nn::AttentionPlan& plan,
                                  float norm_eps, const nn::Dropout& drop, ConstMatrix x,
                                  ConstMatrix states, SublayerScratch& scratch) {
  const size_t tokens = x.rows, h = x.cols;
  const auto [q, k, v] = views(w, query_, pairs_, tokens, states.rows, h);
  if (w.qkv.weight.data) {
    nn::linear_forward(w.qkv, x, query_.matrix(tokens, 3 * h), scratch.bf16);
  } else {
    nn::linear_forward(w.query, x, q, scratch.bf16);
    nn::linear_forward(w.pairs, states, pairs_.matrix(states.rows, 2 * h), scratch.bf16);
  }
  const Matrix context = context_.matrix(tokens, h);  // [T, H]
  nn::attention_forward(plan, q, k, v, context, log_sums_.matrix(plan.num_attention_heads, tokens),
                        scratch.attention);
  return exit_.forward({w.output, w.norm}, norm_eps, drop, context, x, scratch);
}

void AttentionSublayer::backward(const AttentionWeights& w, const nn::AttentionPlan& plan,
                                 const nn::Dropout& drop, ConstMatrix x, ConstMatrix states,
                                 Matrix d, Matrix d_states, const AttentionWeights& gradient,
                                 SublayerScratch& scratch, Matrix d_bias) {
  const size_t tokens = d.rows, h = d.cols;
  const ConstMatrix context = context_.matrix(tokens, h);
  const Matrix d_context = scratch.d_context.matrix(tokens, h);  // [T, H]
  exit_.backward({w.output, w.norm}, drop, context, d, d_context, {gradient.output, gradient.norm},
                 scratch);

  const auto [q, k, v] = views(w, query_, pairs_, tokens, states.rows, h);
  const auto [dq, dk, dv] = views(w, scratch.d_query, scratch.d_pairs, tokens, states.rows, h);
  nn::attention_backward(plan, q, k, v, context, log_sums_.matrix(plan.num_attention_heads, tokens),
                         d_context, dq, dk, dv, scratch.attention, d_bias);
  if (w.qkv.weight.data) {
    nn::linear_backward(w.qkv, x, scratch.d_query.matrix(tokens, 3 * h), gradient.qkv, d, true,
                        scratch.bf16);
    return;
  }
  nn::linear_backward(w.query, x, dq, gradient.query, d, true, scratch.bf16);
  nn::linear_backward(w.pairs, states, scratch.d_pairs.matrix(states.rows, 2 * h), gradient.pairs,
                      d_states, true, scratch.bf16);
}

Matrix FeedForwardSublayer::forward(const FeedForwardWeights& w, Activation act, float norm_eps,
                                    const nn::Dropout& drop, ConstMatrix x,
                                    SublayerScratch& scratch) {
  const size_t tokens = x.rows, i = w.intermediate.weight.rows;
  const Matrix intermediate = intermediate_.matrix(tokens, i);  // [T, I]
  nn::linear_forward(w.intermediate, x, intermediate, scratch.bf16);
  const Matrix activated = activated_.matrix(tokens, i);  // [T, I]
  nn::activation_forward(act, intermediate, activated);
  return exit_.forward({w.output, w.norm}, norm_eps, drop, activated, x, scratch);
}

void FeedForwardSublayer::backward(const FeedForwardWeights& w, Activation act,
                                   const nn::Dropout& drop, ConstMatrix x, Matrix d,
                                   const FeedForwardWeights& gradient, SublayerScratch& scratch) {
  const size_t tokens = d.rows, i = w.intermediate.weight.rows;
  const Matrix d_wide = scratch.d_wide.matrix(tokens, i);  // [T, I]
  exit_.backward({w.output, w.norm}, drop, activated_.matrix(tokens, i), d, d_wide,
                 {gradient.output, gradient.norm}, scratch);
  nn::activation_backward(act, intermediate_.matrix(tokens, i), d_wide);
  nn::linear_backward(w.intermediate, x, d_wide, gradient.intermediate, d, true, scratch.bf16);
}

}  // namespace bert::training
