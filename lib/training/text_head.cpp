#include "training/text_head.h"

#include <algorithm>
#include <span>

#include "heads/classification.h"
#include "nn/loss.h"
#include "nn/vector_loss.h"
#include "ops/gradient_kernels.h"

namespace bert::training {

TextHead::TextHead(const HeadPlan& plan, const ModelWeights& weights, bool /*bf16*/)
    : Head(plan, weights),
      next_sentence_(plan.objective == Objective::pretrain),
      attentive_(!next_sentence_ && plan.config.pooling.hops > 0),
      classifier_(next_sentence_ ? &ModelWeights::next_sentence : &ModelWeights::classifier),
      dense_act_(plan.config.text_head_act()) {
  if (weights.pooler.weight.data) {
    dense_act_ = plan.config.pooler_act;
  } else if (weights.head_dense.weight.data) {
    dense_act_ = plan.config.head_act;
  }
  if (next_sentence_) return;
  input_ = plan.config.text_input;
  if (plan.config.problem_type == "regression") loss_ = TextLoss::squared_error;
  if (plan.config.problem_type == "multi_label_classification") {
    loss_ = TextLoss::binary_cross_entropy;
  }
}

TransformLayer::Weights TextHead::dense(const ModelWeights& w) const {
  if (weights_.pooler.weight.data) return {w.pooler};
  if (weights_.head_dense.weight.data) return transform_of(w);
  return {w.classifier_dense};
}

Tally TextHead::count(const TrainingBatch& batch) const {
  Tally tally = Head::count(batch);
  if (loss_ != TextLoss::cross_entropy) tally.sequences = static_cast<double>(batch.values.size());
  return tally;
}

size_t TextHead::place(const PackedBatch& batch, size_t s) const {
  return input_ == TextInput::last ? last_token(batch, s, plan_.config.pad_token_id)
                                   : batch.begin(s);
}

Matrix TextHead::mean(const PackedBatch& batch, ConstMatrix x) {
  const Matrix means = means_.zeros(batch.sequences(), x.cols);
  for (size_t s = 0; s < means.rows; ++s) {
    const float share = 1.f / static_cast<float>(batch.length(s));
    for (size_t t = 0; t < batch.length(s); ++t) {
      gradient_kernels().axpy(share, x.row(batch.begin(s) + t), x.cols, means.row(s));
    }
  }
  return means;
}

Matrix TextHead::mean_backward(const PackedBatch& batch, ConstMatrix d) {
  const Matrix spread = spread_.zeros(batch.tokens(), d.cols);
  for (size_t s = 0; s < d.rows; ++s) {
    const float share = 1.f / static_cast<float>(batch.length(s));
    for (size_t t = 0; t < batch.length(s); ++t) {
      gradient_kernels().axpy(share, d.row(s), d.cols, spread.row(batch.begin(s) + t));
    }
  }
  return spread;
}

Matrix TextHead::read(const HeadPass& pass) {
  const PackedBatch& batch = pass.batch.batch;
  const size_t h = pass.hidden.cols;
  const bool all = input_ == TextInput::mean_logits;
  const Matrix rows = rows_.matrix(all ? batch.tokens() : batch.sequences(), h);
  if (all) {
    copy(pass.hidden, rows);
  } else if (input_ == TextInput::mean) {
    copy(mean(batch, pass.hidden), rows);
  } else {
    for (size_t s = 0; s < rows.rows; ++s) {
      std::copy_n(pass.hidden.row(place(batch, s)), h, rows.row(s));
    }
  }
  return rows;
}

void TextHead::read_backward(const HeadPass& pass, Matrix d_rows) {
  const PackedBatch& batch = pass.batch.batch;
  if (input_ == TextInput::mean_logits) return copy(d_rows, pass.d_hidden);
  if (input_ == TextInput::mean) return copy(mean_backward(batch, d_rows), pass.d_hidden);
  for (size_t s = 0; s < d_rows.rows; ++s) {
    gradient_kernels().axpy(1.f, d_rows.row(s), d_rows.cols, pass.d_hidden.row(place(batch, s)));
  }
}

/// norm(act(dense(what is read))).
Matrix TextHead::features(const HeadPass& pass) {
  const Matrix rows = read(pass);
  if (drops_first()) nn::dropout(dropout_at(pass, kDenseSite), rows);
  const ConstMatrix made =
      dense_.forward(dense(weights_), dense_act_, norm_plan(plan_.config), rows);
  const Matrix features = features_.matrix(made.rows, made.cols);
  copy(made, features);
  return features;
}

void TextHead::features_backward(const HeadPass& pass, Matrix d_features) {
  const Matrix d_rows = d_rows_.matrix(d_features.rows, pass.hidden.cols);
  dense_.backward(dense(weights_), dense_act_, norm_plan(plan_.config), d_features,
                  dense(*pass.gradient), d_rows);
  if (drops_first()) nn::dropout(dropout_at(pass, kDenseSite), d_rows);
  read_backward(pass, d_rows);
}

double TextHead::loss(const HeadPass& pass, Matrix logits, size_t& right) {
  const TrainingBatch& batch = pass.batch;
  const float scale = pass.scale.sequence;
  const ConstMatrix targets(batch.values.data(), logits.rows, logits.cols);
  switch (loss_) {
    case TextLoss::squared_error:
      return nn::squared_error(logits, targets, scale);
    case TextLoss::binary_cross_entropy:
      return nn::binary_cross_entropy(logits, targets, scale);
    default: {
      if (next_sentence_)
        return nn::cross_entropy(logits, batch.sequence_labels, {}, scale, &right);
      ConstMatrix teacher;
      if (!batch.teacher.empty()) teacher = {batch.teacher.data(), logits.rows, logits.cols};
      return class_loss(logits, batch.sequence_labels, teacher, scale, pass.gradient, right);
    }
  }
}

Matrix TextHead::logits(const HeadPass& pass) {
  const std::span<const size_t> begins = pass.batch.batch.cu_seq_lens;
  if (attentive_) {
    x_ = features_.matrix(pass.batch.sequences(),
                          weights_.pooling_hops.weight.rows * pass.hidden.cols);
    nn::pooling_forward(pooling(weights_), begins, pass.hidden, x_, pooling_);
    if (plan_.config.pooling.unit) {
      const Matrix lengths = lengths_.matrix(x_.rows, 1);
      nn::unit_forward(x_, units_.matrix(x_.rows, x_.cols), lengths);
      copy(units_.matrix(x_.rows, x_.cols), x_);
    }
  } else {
    x_ = features(pass);
  }
  if (!next_sentence_) nn::dropout(dropout_at(pass, kHeadSite), x_);
  const nn::LinearWeights& classifier = weights_.*classifier_;
  const Matrix logits = logits_.matrix(x_.rows, classifier.weight.rows);
  nn::linear_forward(classifier, x_, logits);
  return means_logits() ? mean(pass.batch.batch, logits) : logits;
}

void TextHead::logits_backward(const HeadPass& pass, Matrix d_logits) {
  if (means_logits()) d_logits = mean_backward(pass.batch.batch, d_logits);
  Matrix d_x = d_features_.matrix(x_.rows, x_.cols);
  nn::linear_backward(weights_.*classifier_, x_, d_logits, pass.gradient->*classifier_, d_x);
  if (!next_sentence_) nn::dropout(dropout_at(pass, kHeadSite), d_x);
  if (!attentive_) return features_backward(pass, d_x);
  if (plan_.config.pooling.unit) {
    const Matrix d_pooled = d_rows_.zeros(x_.rows, x_.cols);
    nn::unit_backward(units_.matrix(x_.rows, x_.cols), lengths_.matrix(x_.rows, 1), d_x, d_pooled);
    d_x = d_pooled;
  }
  nn::pooling_backward(pooling(weights_), pass.batch.batch.cu_seq_lens, pass.hidden, d_x,
                       pass.scale.sequence * plan_.hop_penalty, pooling(*pass.gradient),
                       pass.d_hidden, pooling_);
}

void TextHead::add_losses(const HeadPass& pass, Tally& tally) {
  const Matrix found = logits(pass);
  tally.sequence_loss += loss(pass, found, tally.sequences_right);
  if (attentive_ && plan_.hop_penalty > 0) {
    tally.sequence_loss +=
        static_cast<double>(plan_.hop_penalty) *
        nn::hop_overlap(pooling(weights_), pass.batch.batch.cu_seq_lens, pooling_);
  }
  if (pass.gradient) logits_backward(pass, found);
}

}  // namespace bert::training
