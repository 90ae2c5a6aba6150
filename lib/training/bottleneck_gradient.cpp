#include "training/bottleneck_gradient.h"

namespace bert::training {

Matrix BottleneckLayer::Entry::forward(const nn::LinearWeights& linear, const nn::NormWeights& norm,
                                       const SublayerForm& form, ConstMatrix x,
                                       SublayerScratch& scratch) {
  const size_t tokens = x.rows, width = linear.weight.rows;
  const Matrix narrow = product.matrix(tokens, width);
  nn::linear_forward(linear, x, narrow, scratch.bf16);
  const Matrix out = normal.matrix(tokens, width);
  nn::norm_forward(norm, form.norm, narrow, out, {});
  return out;
}

void BottleneckLayer::Entry::backward(const nn::LinearWeights& linear, const nn::NormWeights& norm,
                                      const SublayerForm& form, ConstMatrix x, Matrix d_normal,
                                      Matrix d, const nn::LinearWeights& d_linear,
                                      const nn::NormWeights& d_norm, SublayerScratch& scratch) {
  nn::norm_backward(norm, form.norm, product.matrix(x.rows, d_normal.cols), {}, d_normal, d_norm,
                    d_normal);
  nn::linear_backward(linear, x, d_normal, d_linear, d, true, scratch.bf16);
}

Matrix BottleneckLayer::forward(const Weights& w, const nn::AttentionPlan& plan,
                                const SublayerForm& form, const nn::Dropout& drop, ConstMatrix x,
                                SublayerScratch& scratch) {
  const BottleneckWeights& b = w.bottleneck;
  const size_t tokens = x.rows, width = b.value.weight.rows;
  const ConstMatrix inner = entry_.forward(b.entry, b.entry_norm, form, x, scratch);
  const ConstMatrix shared = shared_.forward(b.shared, b.shared_norm, form, x, scratch);
  const Matrix qk = query_key_.matrix(tokens, 2 * width), v = value_.matrix(tokens, width);
  nn::linear_forward(w.attention.qkv, shared, qk, scratch.bf16);
  nn::linear_forward(b.value, x, v, scratch.bf16);
  const Matrix context = context_.matrix(tokens, width);
  nn::attention_forward(plan, columns(qk, 0, width), columns(qk, width, width), v, context,
                        log_sums_.matrix(plan.num_attention_heads, tokens), scratch.attention);
  ConstMatrix y = attention_exit_.forward({w.attention.output, w.attention.norm}, form, {}, context,
                                          inner, scratch);  // [T, B]
  nets_.resize(b.nets.size() + 1);
  inputs_.assign(1, y);
  for (size_t n = 0; n < nets_.size(); ++n) {
    y = nets_[n].forward(net(w, n), form, {}, y, scratch);
    inputs_.push_back(y);
  }
  return exit_.forward({b.exit, b.exit_norm}, form, drop, y, x, scratch);
}

void BottleneckLayer::backward_nets(const Weights& w, const SublayerForm& form,
                                    const nn::Dropout& drop, Matrix d, const Weights& gradient,
                                    SublayerScratch& scratch) {
  const BottleneckWeights& b = w.bottleneck;
  const Matrix d_narrow = d_narrow_.matrix(d.rows, b.exit.weight.cols);
  exit_.backward({b.exit, b.exit_norm}, form, drop, inputs_.back(), d, d_narrow,
                 {gradient.bottleneck.exit, gradient.bottleneck.exit_norm}, scratch);
  for (size_t n = nets_.size(); n-- > 0;) {
    nets_[n].backward(net(w, n), form, {}, inputs_[n], d_narrow, net(gradient, n), scratch);
  }
}

void BottleneckLayer::backward_attention(const Weights& w, const nn::AttentionPlan& plan,
                                         const SublayerForm& form, ConstMatrix x, Matrix d,
                                         const Weights& gradient, SublayerScratch& scratch) {
  const BottleneckWeights &b = w.bottleneck, &g = gradient.bottleneck;
  const size_t tokens = x.rows, width = b.value.weight.rows, narrow = b.entry.weight.rows;
  const Matrix context = context_.matrix(tokens, width),
               d_narrow = d_narrow_.matrix(tokens, narrow);
  const Matrix d_context = scratch.d_context.matrix(tokens, width);
  attention_exit_.backward({w.attention.output, w.attention.norm}, form, {}, context, d_narrow,
                           d_context, {gradient.attention.output, gradient.attention.norm},
                           scratch);
  const Matrix qk = query_key_.matrix(tokens, 2 * width), v = value_.matrix(tokens, width);
  const Matrix d_qk = scratch.d_query.matrix(tokens, 2 * width);
  const Matrix d_v = scratch.d_pairs.matrix(tokens, width);
  nn::attention_backward(plan, columns(qk, 0, width), columns(qk, width, width), v, context,
                         log_sums_.matrix(plan.num_attention_heads, tokens), d_context,
                         columns(d_qk, 0, width), columns(d_qk, width, width), d_v,
                         scratch.attention, {});
  nn::linear_backward(b.value, x, d_v, g.value, d, true, scratch.bf16);
  const Matrix d_shared = d_shared_.matrix(tokens, narrow);
  nn::linear_backward(w.attention.qkv, shared_.normal.matrix(tokens, narrow), d_qk,
                      gradient.attention.qkv, d_shared, false, scratch.bf16);
  shared_.backward(b.shared, b.shared_norm, form, x, d_shared, d, g.shared, g.shared_norm, scratch);
  entry_.backward(b.entry, b.entry_norm, form, x, d_narrow, d, g.entry, g.entry_norm, scratch);
}

}  // namespace bert::training
