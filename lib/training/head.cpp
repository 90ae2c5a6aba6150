#include "training/head.h"

#include <algorithm>
#include <cmath>

#include "nn/activation.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "nn/loss.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::training {
namespace {

constexpr size_t kHeadSite = 8;  // site of dropout
constexpr size_t kDenseSite = 9;
constexpr size_t kBilstmSite = 10;

void fill(Matrix m, float value) {
  for (size_t t = 0; t < m.rows; ++t) std::fill_n(m.row(t), m.cols, value);
}

nn::RecurrentShape bilstm_shape(const BilstmConfig& net, const ModelWeights& weights) {
  if (weights.bilstm.empty()) return {};
  return {Cell::lstm, weights.bilstm[0].input.weight.cols, net.hidden_size, net.num_layers, true};
}

}  // namespace

Head::Head(const HeadPlan& plan, const ModelWeights& weights, bool bf16)
    : config_(plan.config),
      objective_(plan.objective),
      weights_(weights),
      class_weights_(plan.class_weights),
      attentive_(plan.objective == Objective::classify && plan.config.pooling.hops > 0),
      hop_penalty_(plan.hop_penalty),
      bilstm_(bilstm_shape(plan.config.bilstm, weights)),
      bf16_(bf16 ? &products_ : nullptr) {
  const Config& config = plan.config;
  if (config.problem_type == "regression") text_loss_ = TextLoss::squared_error;
  if (config.problem_type == "multi_label_classification") {
    text_loss_ = TextLoss::binary_cross_entropy;
  }
  const bool pooled = weights.pooler.weight.data != nullptr;
  dense_ = pooled ? &weights.pooler : &weights.classifier_dense;
  dense_act_ = pooled ? Activation::tanh : config.family->text_head_act;
  classifier_ = objective_ == Objective::pretrain ? &weights.next_sentence : &weights.classifier;
}

/// dropout(the hops of attentive pooling), [S, hops H].
Matrix Head::attentive_features(const PackedBatch& batch, ConstMatrix hidden,
                                const DropoutPlan& dropout) {
  const size_t hops = weights_.pooling_hops.weight.rows;
  const Matrix features = features_.matrix(batch.sequences(), hops * hidden.cols);
  nn::pooling_forward({weights_.pooling_hidden, weights_.pooling_hops}, batch.cu_seq_lens, hidden,
                      features, pooling_);
  nn::dropout(dropout.at(dropout.classifier, 0, kHeadSite, dropout.sequence_0), features);
  return features;
}

/// dropout(act(dense(first hidden state))), [S, H], or those of attentive pooling.
Matrix Head::features(const PackedBatch& batch, ConstMatrix hidden, const DropoutPlan& dropout) {
  if (attentive_) return attentive_features(batch, hidden, dropout);
  const size_t count = batch.sequences(), h = hidden.cols;
  const Matrix rows = rows_.matrix(count, h);
  for (size_t s = 0; s < count; ++s) std::copy_n(hidden.row(batch.begin(s)), h, rows.row(s));
  if (config_.family->drops_before_text_head) {
    nn::dropout(dropout.at(dropout.classifier, 0, kDenseSite, dropout.sequence_0), rows);
  }
  const Matrix dense_out = dense_out_.matrix(count, h);
  nn::linear_forward(*dense_, rows, dense_out);
  const Matrix features = features_.matrix(count, h);
  nn::activation_forward(dense_act_, dense_out, features);
  if (objective_ == Objective::classify) {
    nn::dropout(dropout.at(dropout.classifier, 0, kHeadSite, dropout.sequence_0), features);
  }
  return features;
}

void Head::features_backward(const PackedBatch& batch, ConstMatrix hidden, Matrix d_features,
                             float penalty, const DropoutPlan& dropout,
                             const ModelWeights& gradient, Matrix d_hidden) {
  const size_t count = batch.sequences(), h = d_features.cols;
  if (objective_ == Objective::classify) {
    nn::dropout(dropout.at(dropout.classifier, 0, kHeadSite, dropout.sequence_0), d_features);
  }
  if (attentive_) {
    nn::pooling_backward({weights_.pooling_hidden, weights_.pooling_hops}, batch.cu_seq_lens,
                         hidden, d_features, penalty,
                         {gradient.pooling_hidden, gradient.pooling_hops}, d_hidden, pooling_);
    return;
  }
  nn::activation_backward(dense_act_, ConstMatrix(dense_out_.data(), count, h), d_features);
  const bool pooled = dense_ == &weights_.pooler;
  const Matrix d_rows = d_rows_.matrix(count, h);
  nn::linear_backward(*dense_, ConstMatrix(rows_.data(), count, h), d_features,
                      pooled ? gradient.pooler : gradient.classifier_dense, d_rows);
  if (config_.family->drops_before_text_head) {
    nn::dropout(dropout.at(dropout.classifier, 0, kDenseSite, dropout.sequence_0), d_rows);
  }
  for (size_t s = 0; s < count; ++s) {
    gradient_kernels().axpy(1.f, d_rows.row(s), h, d_hidden.row(batch.begin(s)));
  }
}

Tally Head::count(const TrainingBatch& batch) const {
  Tally tally;
  const auto weigh = [&](const std::vector<int32_t>& labels) {
    double sum = 0;
    for (const int32_t label : labels) {
      if (label == nn::kIgnored) continue;
      ++tally.labelled;
      const bool weighted = !class_weights_.empty() && objective_ != Objective::pretrain;
      sum += weighted ? static_cast<double>(class_weights_[static_cast<size_t>(label)]) : 1.;
    }
    return sum;
  };
  tally.tokens = weigh(batch.token_labels);
  if (objective_ == Objective::spans) {
    for (size_t s = 0; s < batch.starts.size(); ++s)
      tally.sequences += batch.starts[s] != nn::kIgnored;
    tally.labelled = tally.sequences;
  } else if (objective_ == Objective::vectors) {
    tally.sequences = static_cast<double>(batch.sequences());
  } else if (text_loss_ != TextLoss::cross_entropy && objective_ == Objective::classify) {
    tally.sequences = static_cast<double>(batch.values.size());
  } else {
    tally.sequences = weigh(batch.sequence_labels);
  }
  return tally;
}

Tally Head::learn(const TrainingBatch& batch, ConstMatrix hidden, LossScale scale,
                  const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden) {
  Tally tally = count(batch);
  tally.input_tokens = batch.tokens();
  if (gradient) fill(d_hidden, 0.f);
  switch (objective_) {
    case Objective::pretrain:
    case Objective::masked_lm:
      learn_masked(batch, hidden, scale.token, gradient, d_hidden, tally);
      if (!batch.sequence_labels.empty() && weights_.next_sentence.weight.data) {
        learn_sequences(batch, hidden, scale.sequence, dropout, gradient, d_hidden, tally);
      }
      break;
    case Objective::classify:
      learn_sequences(batch, hidden, scale.sequence, dropout, gradient, d_hidden, tally);
      break;
    case Objective::tokens:
      learn_tokens(batch, hidden, scale.token, dropout, gradient, d_hidden, tally);
      break;
    case Objective::spans:
      learn_spans(batch, hidden, scale.sequence, dropout, gradient, d_hidden, tally);
      break;
    case Objective::vectors:
      learn_vectors(batch, hidden, scale.sequence, gradient, d_hidden, tally);
      break;
    case Objective::next_sentence:
    case Objective::discriminator:
      break;  // not trained
  }
  return tally;
}

double Head::text_loss(const TrainingBatch& batch, Matrix logits, float scale,
                       size_t& right) const {
  const ConstMatrix targets(batch.values.data(), logits.rows, logits.cols);
  switch (text_loss_) {
    case TextLoss::squared_error:
      return nn::squared_error(logits, targets, scale);
    case TextLoss::binary_cross_entropy:
      return nn::binary_cross_entropy(logits, targets, scale);
    default:
      return nn::cross_entropy(logits, batch.sequence_labels, class_weights_, scale, &right);
  }
}

void Head::learn_sequences(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                           const DropoutPlan& dropout, const ModelWeights* gradient,
                           Matrix d_hidden, Tally& tally) {
  const Matrix x = features(batch.batch, hidden, dropout);                 // [S, H]
  const Matrix logits = logits_.matrix(x.rows, classifier_->weight.rows);  // [S, labels]
  nn::linear_forward(*classifier_, x, logits);
  if (objective_ == Objective::pretrain) {
    tally.sequence_loss +=
        nn::cross_entropy(logits, batch.sequence_labels, {}, scale, &tally.sequences_right);
  } else {
    tally.sequence_loss += text_loss(batch, logits, scale, tally.sequences_right);
  }
  if (attentive_ && hop_penalty_ > 0) {
    tally.sequence_loss += static_cast<double>(hop_penalty_) *
                           nn::hop_overlap({weights_.pooling_hidden, weights_.pooling_hops},
                                           batch.batch.cu_seq_lens, pooling_);
  }
  if (!gradient) return;
  const Matrix d_x = d_features_.matrix(x.rows, x.cols);
  const bool nsp = objective_ == Objective::pretrain;
  nn::linear_backward(*classifier_, x, logits, nsp ? gradient->next_sentence : gradient->classifier,
                      d_x);
  features_backward(batch.batch, hidden, d_x, scale * hop_penalty_, dropout, *gradient, d_hidden);
}

void Head::learn_tokens(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                        const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden,
                        Tally& tally) {
  const nn::Dropout drop = dropout.at(dropout.classifier, 0, kHeadSite, dropout.token_0);
  Matrix x = features_.matrix(hidden.rows, hidden.cols);  // [T, H], or [T, W]
  copy(hidden, x);
  nn::dropout(drop, x);
  const bool bilstm = !weights_.bilstm.empty();
  const nn::Dropout bilstm_drop = dropout.at(dropout.classifier, 0, kBilstmSite, dropout.token_0);
  if (bilstm) {
    std::vector<nn::CellProducts> products;
    for (const nn::CellWeights& cell : weights_.bilstm)
      products.push_back(nn::CellProducts::of(cell));
    const Matrix out = bilstm_out_.matrix(x.rows, bilstm_.shape().output_size());  // [T, 2 N]
    bilstm_.forward(products, batch.batch.cu_seq_lens, x, {}, out, {}, bilstm_drop);
    x = out;
  }
  const Matrix logits = logits_.matrix(x.rows, weights_.classifier.weight.rows);  // [T, labels]
  nn::linear_forward(weights_.classifier, x, logits);
  tally.token_loss +=
      nn::cross_entropy(logits, batch.token_labels, class_weights_, scale, &tally.tokens_right);
  if (!gradient) return;
  if (bilstm) {
    const Matrix d_out = d_bilstm_.matrix(x.rows, x.cols);
    nn::linear_backward(weights_.classifier, x, logits, gradient->classifier, d_out);
    bilstm_.backward(weights_.bilstm, d_out, {}, gradient->bilstm, {}, {});
    return;
  }
  nn::linear_backward(weights_.classifier, x, logits, gradient->classifier, d_hidden);
  nn::dropout(drop, d_hidden);
}

void Head::learn_spans(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                       const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden,
                       Tally& tally) {
  const bool drops = !config_.family->answers_dropout_key.empty();
  const nn::Dropout drop =
      dropout.at(drops ? dropout.classifier : 0, 0, kHeadSite, dropout.token_0);
  const Matrix x = features_.matrix(hidden.rows, hidden.cols);  // [T, H]
  copy(hidden, x);
  nn::dropout(drop, x);
  const Matrix logits = logits_.matrix(hidden.rows, 2);  // [T, 2]
  nn::linear_forward(weights_.spans, x, logits);
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.batch.begin(s), n = batch.batch.length(s);
    size_t right = 0;
    for (const bool is_end : {false, true}) {
      const Matrix column = masked_.matrix(1, n);  // the sequence's start or end logits
      for (size_t t = 0; t < n; ++t) column.data[t] = logits.row(begin + t)[is_end];
      const int32_t label = is_end ? batch.ends[s] : batch.starts[s];
      tally.sequence_loss += 0.5 * nn::cross_entropy(column, {&label, 1}, {}, 0.5f * scale, &right);
      for (size_t t = 0; t < n; ++t) logits.row(begin + t)[is_end] = column.data[t];
    }
    tally.sequences_right += right == 2;
  }
  if (!gradient) return;
  nn::linear_backward(weights_.spans, x, logits, gradient->spans, d_hidden);
  nn::dropout(drop, d_hidden);
}

// m is the mean of a sequence's n hidden states, t is the wanted unit vector. The loss is 1 -
// cos(m, t). Its gradient in each hidden state is (cos(m, t) m / |m| - t) / (n |m|).
void Head::learn_vectors(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                         const ModelWeights* gradient, Matrix d_hidden, Tally& tally) {
  const size_t h = hidden.cols;
  const Matrix mean = masked_.matrix(1, h);
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.batch.begin(s), n = batch.batch.length(s);
    const float* wanted = batch.values.data() + s * h;
    std::fill_n(mean.data, h, 0.f);
    for (size_t t = 0; t < n; ++t) {
      gradient_kernels().axpy(1.f / static_cast<float>(n), hidden.row(begin + t), h, mean.data);
    }
    const float length = std::sqrt(dot(mean.data, mean.data, h)) + 1e-12f;
    const float cosine = dot(mean.data, wanted, h) / length;
    tally.sequence_loss += 1. - static_cast<double>(cosine);
    if (!gradient) continue;
    const float factor = scale / (static_cast<float>(n) * length);
    float* first = d_hidden.row(begin);
    for (size_t i = 0; i < h; ++i) first[i] = (cosine * mean.data[i] / length - wanted[i]) * factor;
    for (size_t t = 1; t < n; ++t) std::copy_n(first, h, d_hidden.row(begin + t));
  }
}

/// Only masked rows go through the head, and at most kDecoderRows at once through the decoder.
void Head::learn_masked(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                        const ModelWeights* gradient, Matrix d_hidden, Tally& tally) {
  positions_.clear();
  labels_.clear();
  for (size_t t = 0; t < batch.token_labels.size(); ++t) {
    if (batch.token_labels[t] == nn::kIgnored) continue;
    positions_.push_back(t);
    labels_.push_back(batch.token_labels[t]);
  }
  const size_t count = positions_.size(), h = hidden.cols, e = weights_.transform.weight.rows;
  if (count == 0) return;
  const Matrix rows = masked_.matrix(count, h);  // [M, H]
  for (size_t i = 0; i < count; ++i) std::copy_n(hidden.row(positions_[i]), h, rows.row(i));
  const Activation act = config_.mlm_act();
  const Matrix transformed = transformed_.matrix(count, e);  // [M, E]
  nn::linear_forward(weights_.transform, rows, transformed, bf16_);
  const Matrix activated = transform_act_.matrix(count, e);
  nn::activation_forward(act, transformed, activated);
  const Matrix normal = transform_norm_.matrix(count, e);
  const Matrix statistics = transform_statistics_.matrix(count, 2);
  nn::layer_norm_forward(weights_.transform_norm, config_.layer_norm_eps, activated, normal,
                         statistics);

  const Matrix d_normal = d_transform_.matrix(count, e);
  for (size_t first = 0; first < count; first += kDecoderRows) {
    const size_t n = std::min(kDecoderRows, count - first);
    const Matrix logits = logits_.matrix(n, config_.vocab_size);  // [n, V]
    const Matrix x = normal.slice(first, n);
    nn::linear_forward(weights_.decoder, x, logits, bf16_);
    tally.token_loss += nn::cross_entropy(logits, std::span(labels_).subspan(first, n), {}, scale,
                                          &tally.tokens_right);
    if (gradient) {
      nn::linear_backward(weights_.decoder, x, logits, gradient->decoder, d_normal.slice(first, n),
                          false, bf16_);
    }
  }
  if (!gradient) return;
  nn::layer_norm_backward(weights_.transform_norm, activated, statistics, d_normal,
                          gradient->transform_norm, d_normal);
  nn::activation_backward(act, transformed, d_normal);
  const Matrix d_rows = d_rows_.matrix(count, h);
  nn::linear_backward(weights_.transform, rows, d_normal, gradient->transform, d_rows, false,
                      bf16_);
  for (size_t i = 0; i < count; ++i) {
    gradient_kernels().axpy(1.f, d_rows.row(i), h, d_hidden.row(positions_[i]));
  }
}

}  // namespace bert::training
