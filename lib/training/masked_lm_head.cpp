#include "training/masked_lm_head.h"

#include <algorithm>
#include <span>

#include "nn/loss.h"
#include "ops/gradient_kernels.h"

namespace bert::training {

MaskedLmHead::MaskedLmHead(const HeadPlan& plan, const ModelWeights& weights, bool bf16)
    : Head(plan, weights), bf16_(bf16 ? &products_ : nullptr) {
  if (plan.objective == Objective::pretrain && weights.next_sentence.weight.data) {
    next_sentence_.emplace(plan, weights, bf16);
  }
}

void MaskedLmHead::add_losses(const HeadPass& pass, Tally& tally) {
  add_masked(pass, tally);
  if (next_sentence_ && !pass.batch.sequence_labels.empty()) {
    next_sentence_->add_losses(pass, tally);
  }
}

Matrix MaskedLmHead::masked_rows(const HeadPass& pass) {
  positions_.clear();
  labels_.clear();
  for (size_t t = 0; t < pass.batch.token_labels.size(); ++t) {
    if (pass.batch.token_labels[t] == nn::kIgnored) continue;
    positions_.push_back(t);
    labels_.push_back(pass.batch.token_labels[t]);
  }
  if (positions_.empty()) return {};
  const size_t h = pass.hidden.cols;
  const Matrix rows = rows_.matrix(positions_.size(), h);
  for (size_t i = 0; i < rows.rows; ++i) {
    std::copy_n(pass.hidden.row(positions_[i]), h, rows.row(i));
  }
  return rows;
}

void MaskedLmHead::decode(ConstMatrix x, Matrix logits) {
  const size_t width = weights_.decoder.weight.cols;  // E, or H
  nn::linear_forward(weights_.decoder, columns(x, 0, width), logits, bf16_);
  const Matrix& rest = weights_.decoder_rest;
  if (!rest.data) return;
  // The product x R is that of a way back, whose weights are R.
  nn::linear_backward({rest}, {}, columns(x, width, rest.rows), {}, logits, true, bf16_);
}

void MaskedLmHead::decode_backward(ConstMatrix x, ConstMatrix d, const ModelWeights& gradient,
                                   Matrix dx) {
  const size_t width = weights_.decoder.weight.cols;
  nn::linear_backward(weights_.decoder, columns(x, 0, width), d, gradient.decoder,
                      columns(dx, 0, width), false, bf16_);
  const Matrix& rest = weights_.decoder_rest;
  if (!rest.data) return;
  nn::linear_backward({rest}, d, columns(x, width, rest.rows), {gradient.decoder_rest}, {}, false,
                      bf16_);
  nn::linear_forward({rest}, d, columns(dx, width, rest.rows), bf16_);
}

/// Only masked rows go through the head, and at most kDecoderRows at once through the decoder.
void MaskedLmHead::add_masked(const HeadPass& pass, Tally& tally) {
  const Matrix rows = masked_rows(pass);
  const size_t count = rows.rows;
  if (count == 0) return;
  const auto transform_of = [](const ModelWeights& w) {
    return TransformLayer::Weights{w.transform, w.transform_norm};
  };
  const Activation act = plan_.config.mlm_act();
  const nn::NormPlan norm = norm_plan(plan_.config, Role::mlm_norm);
  const ConstMatrix normal =
      transform_.forward(transform_of(weights_), act, norm, rows, bf16_);  // [M, E]

  const ModelWeights* gradient = pass.gradient;
  const Matrix d_normal = d_normal_.matrix(count, normal.cols);
  for (size_t first = 0; first < count; first += kDecoderRows) {
    const size_t n = std::min(kDecoderRows, count - first);
    const Matrix logits = logits_.matrix(n, plan_.config.vocab_size);  // [n, V]
    const ConstMatrix x = normal.slice(first, n);
    decode(x, logits);
    tally.token_loss += nn::cross_entropy(logits, std::span(labels_).subspan(first, n), {},
                                          pass.scale.token, &tally.tokens_right);
    if (gradient) decode_backward(x, logits, *gradient, d_normal.slice(first, n));
  }
  if (!gradient) return;
  const Matrix d_rows = d_rows_.matrix(count, rows.cols);
  transform_.backward(transform_of(weights_), act, norm, d_normal, transform_of(*gradient), d_rows,
                      bf16_);
  for (size_t i = 0; i < count; ++i) {
    gradient_kernels().axpy(1.f, d_rows.row(i), rows.cols, pass.d_hidden.row(positions_[i]));
  }
}

}  // namespace bert::training
