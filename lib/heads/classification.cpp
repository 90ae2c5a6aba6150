#include "heads/classification.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "directory/readers.h"
#include "heads/pooling.h"
#include "model/names.h"
#include "ops/kernels.h"

namespace bert {
namespace {

Normalization normalization_of(const Config& config) {
  if (config.problem_type == "regression") return Normalization::none;
  if (!config.score_function.empty()) {
    const auto function = torch_activation(config.score_function);
    if (function == Activation::sigmoid) return Normalization::sigmoid;
    if (function != Activation::none) {
      throw Error(Error::Kind::unsupported, config.path,
                  fmt::format("a CrossEncoder's scores through {} are not supported, wants "
                              "torch.nn.modules.activation.Sigmoid or "
                              "torch.nn.modules.linear.Identity",
                              printable(config.score_function)));
    }
    // With several labels, Identity is only the default of a CrossEncoder: the rule below decides.
    if (config.labels.size() == 1) return Normalization::none;
  }
  const bool sigmoid =
      config.problem_type == "multi_label_classification" || config.labels.size() == 1;
  return sigmoid ? Normalization::sigmoid : Normalization::softmax;
}

/// Whether the head in use has tensors of attentive pooling. Those of the directory's own
/// classifier are not those of a named head, which has another classifier.
bool has_attentive_tensors(const Weights& weights) {
  const TensorView* attentive = weights.find(Role::pooling_classifier);
  const TensorView* plain = weights.find(Role::classifier_output);
  if (!plain) plain = weights.find(Role::classifier);
  return attentive && !(plain && head_name(plain->name) != head_name(attentive->name));
}

}  // namespace

Classifier Classifier::open(const Model& model) {
  const Config& config = model.config();
  const Weights& weights = model.weights();
  require_head(model.directory(), config, weights, HeadKind::classify);
  if (config.text_input == TextInput::last_end && !model.has_reader()) {
    throw Error(Error::Kind::unsupported, config.path,
                "a classifier whose decoder reads the text: classify alone runs it");
  }
  Classifier c;
  c.model_ = &model;
  c.labels_ = config.labels;
  c.normalization_ = normalization_of(config);
  c.regression_ = c.normalization_ == Normalization::none;
  c.pooling_ = AttentivePooling::load(config, weights);
  if (c.pooling_) {
    c.output_ = weights.linear(config, Role::pooling_classifier, Precision::f32);
    return c;
  }
  if (has_attentive_tensors(weights)) {
    throw Error(Error::Kind::data, config.path,
                "bertutils_pooling is missing, wants the sizes of the attentive pooling that the "
                "weights have");
  }
  c.transform_ = HeadTransform::load(config, weights);
  c.input_ = config.text_input;
  if (weights.find(Role::score)) {
    c.output_ = weights.linear(config, Role::score, Precision::f32);
  } else if (weights.find(Role::classifier_output)) {
    c.dense_ = weights.linear(config, Role::classifier_dense, Precision::f32);
    c.dense_act_ = config.text_head_act();
    c.output_ = weights.linear(config, Role::classifier_output, Precision::f32);
  } else {
    c.pooler_ = !c.transform_;
    c.output_ = weights.linear(config, Role::classifier, Precision::f32);
  }
  return c;
}

Classifier Classifier::open_next_sentence(const Model& model) {
  const Weights& weights = model.weights();
  require_head(model.directory(), model.config(), weights, HeadKind::next_sentence);
  Classifier c;
  c.model_ = &model;
  c.labels_ = {"IsNext", "NotNext"};
  c.pooler_ = true;
  c.output_ = weights.linear(model.config(), Role::next_sentence, Precision::f32);
  return c;
}

size_t last_token(const PackedBatch& batch, size_t s, int32_t padding) {
  for (size_t t = batch.cu_seq_lens[s + 1]; t > batch.begin(s); --t) {
    if (batch.input_ids[t - 1] != padding) return t - 1;
  }
  return batch.begin(s);
}

/// The place of the last end token of sequence s.
static size_t last_end(const PackedBatch& batch, size_t s, const Config& config) {
  for (size_t t = batch.cu_seq_lens[s + 1]; t > batch.begin(s); --t) {
    if (batch.input_ids[t - 1] == config.eos_token_id) return t - 1;
  }
  throw Error(
      Error::Kind::data, config.path,
      fmt::format("a text without the end token {}, which the head reads", config.eos_token_id));
}

Matrix Classifier::gather(const PackedBatch& batch, ConstMatrix hidden,
                          Workspace& workspace) const {
  if (input_ == TextInput::first) return gather_first_tokens(batch, hidden, workspace.rows);
  const Matrix read = workspace.rows.matrix(batch.sequences(), hidden.cols);  // [S, H]
  for (size_t s = 0; s < read.rows; ++s) {
    if (input_ == TextInput::last || input_ == TextInput::last_end) {
      const size_t last = input_ == TextInput::last
                              ? last_token(batch, s, model_->config().pad_token_id)
                              : last_end(batch, s, model_->config());
      std::copy_n(hidden.row(last), hidden.cols, read.row(s));
      continue;
    }
    const ConstMatrix tokens(hidden.row(batch.begin(s)), batch.length(s), hidden.cols,
                             hidden.stride);
    pool(Pooling::mean, tokens, {read.row(s), read.cols});
  }
  return read;
}

ConstMatrix Classifier::features(const PackedBatch& batch, ConstMatrix hidden,
                                 Workspace& workspace) const {
  if (pooling_) {
    const Matrix pooled =
        workspace.rows.matrix(batch.sequences(), pooling_.hops() * hidden.cols);  // [S, hops H]
    pooling_(batch, hidden, pooled, 0, workspace.linear);
    return pooled;
  }
  if (pooler_) return model_->pooled_output(batch, hidden, workspace);
  const Matrix read = gather(batch, hidden, workspace);  // [S, H]
  if (transform_) return transform_(read, workspace.rows2, workspace.linear);
  if (!dense_) return read;
  const Matrix features = workspace.rows2.matrix(read.rows, read.cols);
  dense_(read, features, dense_act_, workspace.linear);
  return features;
}

Matrix Classifier::logits(const PackedBatch& batch, ConstMatrix hidden,
                          Workspace& workspace) const {
  const Matrix logits = workspace.logits.matrix(batch.sequences(), output_.out_features());
  if (input_ == TextInput::mean_logits) {
    const Matrix features = workspace.rows2.matrix(hidden.rows, hidden.cols);  // [T, H]
    const Matrix of_tokens = workspace.rows.matrix(hidden.rows, logits.cols);  // [T, labels]
    dense_(hidden, features, dense_act_, workspace.linear);
    output_(features, of_tokens, Activation::none, workspace.linear);
    for (size_t s = 0; s < logits.rows; ++s) {
      pool(Pooling::mean, of_tokens.slice(batch.begin(s), batch.length(s)),
           {logits.row(s), logits.cols});
    }
    return logits;
  }
  output_(features(batch, hidden, workspace), logits, Activation::none, workspace.linear);
  return logits;
}

void Classifier::normalize(Matrix logits) const {
  for (size_t s = 0; s < logits.rows; ++s) {
    const std::span<float> row(logits.row(s), logits.cols);
    if (normalization_ == Normalization::softmax) softmax(row);
    if (normalization_ == Normalization::sigmoid) activate(Activation::sigmoid, row);
  }
}

}  // namespace bert
