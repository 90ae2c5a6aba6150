#pragma once

#include "nn/attentive_pooling_gradient.h"
#include "training/head.h"

namespace bert::training {

/// The loss of a classifier of texts; problem_type in the config decides.
enum class TextLoss { cross_entropy, binary_cross_entropy, squared_error };

/// A class, several or a number for each text or pair: of its first hidden state through a dense
/// layer, or of attentive pooling. In pretraining, whether the second text is the next one.
class TextHead : public Head {
 public:
  TextHead(const HeadPlan& plan, const ModelWeights& weights, bool bf16);

  Tally count(const TrainingBatch& batch) const override;
  void add_losses(const HeadPass& pass, Tally& tally) override;

 private:
  Matrix first_features(const HeadPass& pass);
  void first_features_backward(const HeadPass& pass, Matrix d_features);
  double loss(const TrainingBatch& batch, Matrix logits, float scale, size_t& right) const;
  nn::PoolingWeights pooling(const ModelWeights& weights) const {
    return {weights.pooling_hidden, weights.pooling_hops};
  }
  nn::Dropout dropout_at(const HeadPass& pass, uint64_t site) const {
    return pass.dropout.at(pass.dropout.classifier, 0, site, pass.dropout.sequence_0);
  }

  using Layer = nn::LinearWeights ModelWeights::*;
  const bool next_sentence_;
  const bool attentive_;  ///< attentive pooling stands before the classifier, and no dense layer
  const Layer classifier_;
  Layer dense_ = &ModelWeights::classifier_dense;
  Activation dense_act_;
  TextLoss loss_ = TextLoss::cross_entropy;
  nn::PoolingBuffers pooling_;
  Buffer rows_, dense_out_, features_, logits_, d_features_, d_rows_;
};

}  // namespace bert::training
