#include "training/text_head.h"

#include <algorithm>
#include <span>

#include "nn/activation_gradient.h"
#include "nn/loss.h"
#include "ops/gradient_kernels.h"

namespace bert::training {

TextHead::TextHead(const HeadPlan& plan, const ModelWeights& weights, bool /*bf16*/)
    : Head(plan, weights),
      next_sentence_(plan.objective == Objective::pretrain),
      attentive_(!next_sentence_ && plan.config.pooling.hops > 0),
      classifier_(next_sentence_ ? &ModelWeights::next_sentence : &ModelWeights::classifier),
      dense_act_(plan.config.text_head_act()) {
  if (weights.pooler.weight.data) {
    dense_ = &ModelWeights::pooler;
    dense_act_ = Activation::tanh;
  }
  if (next_sentence_) return;
  if (plan.config.problem_type == "regression") loss_ = TextLoss::squared_error;
  if (plan.config.problem_type == "multi_label_classification") {
    loss_ = TextLoss::binary_cross_entropy;
  }
}

Tally TextHead::count(const TrainingBatch& batch) const {
  Tally tally = Head::count(batch);
  if (loss_ != TextLoss::cross_entropy) tally.sequences = static_cast<double>(batch.values.size());
  return tally;
}

/// act(dense(first hidden state)) [S, H].
Matrix TextHead::first_features(const HeadPass& pass) {
  const PackedBatch& batch = pass.batch.batch;
  const size_t count = batch.sequences(), h = pass.hidden.cols;
  const Matrix rows = rows_.matrix(count, h);
  for (size_t s = 0; s < count; ++s) std::copy_n(pass.hidden.row(batch.begin(s)), h, rows.row(s));
  if (plan_.config.family->drops_before_text_head) nn::dropout(dropout_at(pass, kDenseSite), rows);
  const Matrix dense_out = dense_out_.matrix(count, h);
  nn::linear_forward(weights_.*dense_, rows, dense_out);
  const Matrix features = features_.matrix(count, h);
  nn::activation_forward(dense_act_, dense_out, features);
  return features;
}

void TextHead::first_features_backward(const HeadPass& pass, Matrix d_features) {
  const PackedBatch& batch = pass.batch.batch;
  const size_t count = batch.sequences(), h = d_features.cols;
  nn::activation_backward(dense_act_, ConstMatrix(dense_out_.data(), count, h), d_features);
  const Matrix d_rows = d_rows_.matrix(count, h);
  nn::linear_backward(weights_.*dense_, ConstMatrix(rows_.data(), count, h), d_features,
                      pass.gradient->*dense_, d_rows);
  if (plan_.config.family->drops_before_text_head) {
    nn::dropout(dropout_at(pass, kDenseSite), d_rows);
  }
  for (size_t s = 0; s < count; ++s) {
    gradient_kernels().axpy(1.f, d_rows.row(s), h, pass.d_hidden.row(batch.begin(s)));
  }
}

double TextHead::loss(const TrainingBatch& batch, Matrix logits, float scale, size_t& right) const {
  const ConstMatrix targets(batch.values.data(), logits.rows, logits.cols);
  switch (loss_) {
    case TextLoss::squared_error:
      return nn::squared_error(logits, targets, scale);
    case TextLoss::binary_cross_entropy:
      return nn::binary_cross_entropy(logits, targets, scale);
    default: {
      std::span<const float> class_weights;
      if (!next_sentence_) class_weights = plan_.class_weights;
      return nn::cross_entropy(logits, batch.sequence_labels, class_weights, scale, &right);
    }
  }
}

void TextHead::add_losses(const HeadPass& pass, Tally& tally) {
  const std::span<const size_t> begins = pass.batch.batch.cu_seq_lens;
  Matrix x;  // [S, H], or [S, hops H]
  if (attentive_) {
    x = features_.matrix(pass.batch.sequences(),
                         weights_.pooling_hops.weight.rows * pass.hidden.cols);
    nn::pooling_forward(pooling(weights_), begins, pass.hidden, x, pooling_);
  } else {
    x = first_features(pass);
  }
  if (!next_sentence_) nn::dropout(dropout_at(pass, kHeadSite), x);
  const nn::LinearWeights& classifier = weights_.*classifier_;
  const Matrix logits = logits_.matrix(x.rows, classifier.weight.rows);  // [S, labels]
  nn::linear_forward(classifier, x, logits);
  tally.sequence_loss += loss(pass.batch, logits, pass.scale.sequence, tally.sequences_right);
  if (attentive_ && plan_.hop_penalty > 0) {
    tally.sequence_loss += static_cast<double>(plan_.hop_penalty) *
                           nn::hop_overlap(pooling(weights_), begins, pooling_);
  }
  if (!pass.gradient) return;
  const Matrix d_x = d_features_.matrix(x.rows, x.cols);
  nn::linear_backward(classifier, x, logits, pass.gradient->*classifier_, d_x);
  if (!next_sentence_) nn::dropout(dropout_at(pass, kHeadSite), d_x);
  if (!attentive_) return first_features_backward(pass, d_x);
  nn::pooling_backward(pooling(weights_), begins, pass.hidden, d_x,
                       pass.scale.sequence * plan_.hop_penalty, pooling(*pass.gradient),
                       pass.d_hidden, pooling_);
}

}  // namespace bert::training
