#pragma once

#include "nn/attentive_pooling_gradient.h"
#include "training/head.h"

namespace bert::training {

/// The loss of a classifier of texts; problem_type in the config decides.
enum class TextLoss { cross_entropy, binary_cross_entropy, squared_error };

/// A class, several or a number for each text or pair: of the hidden state that the family reads
/// (TextInput) through a dense layer, or of attentive pooling. In pretraining, whether the second
/// text is the next one.
class TextHead : public Head {
 public:
  TextHead(const HeadPlan& plan, const ModelWeights& weights, bool bf16);

  Tally count(const TrainingBatch& batch) const override;
  void add_losses(const HeadPass& pass, Tally& tally) override;

  /// The logits [S, labels], valid until the next call.
  Matrix logits(const HeadPass& pass);
  /// The way back of the last logits(), with the same pass: adds to its gradient and d_hidden.
  /// Overwrites d_logits.
  void logits_backward(const HeadPass& pass, Matrix d_logits);

 private:
  /// What the dense layer reads [S, H], or [T, H] where each token has logits.
  Matrix read(const HeadPass& pass);
  void read_backward(const HeadPass& pass, Matrix d_rows);
  /// The place of the hidden state that is read of sequence s.
  size_t place(const PackedBatch& batch, size_t s) const;
  Matrix features(const HeadPass& pass);
  void features_backward(const HeadPass& pass, Matrix d_features);
  /// The mean of each text's tokens: x [T, N] -> [S, N], and the way back.
  Matrix mean(const PackedBatch& batch, ConstMatrix x);
  Matrix mean_backward(const PackedBatch& batch, ConstMatrix d);
  double loss(const HeadPass& pass, Matrix logits, size_t& right);
  nn::PoolingWeights pooling(const ModelWeights& weights) const {
    return {weights.pooling_hidden, weights.pooling_hops};
  }
  nn::Dropout dropout_at(const HeadPass& pass, uint64_t site) const {
    return pass.dropout.at(pass.dropout.classifier, 0, site,
                           means_logits() ? pass.dropout.token_0 : pass.dropout.sequence_0);
  }

  TransformLayer::Weights dense(const ModelWeights& weights) const;
  bool means_logits() const { return input_ == TextInput::mean_logits && !attentive_; }
  bool drops_first() const { return plan_.config.family->drops_before_text_head; }

  using Layer = nn::LinearWeights ModelWeights::*;
  const bool next_sentence_;
  const bool attentive_;  ///< attentive pooling stands before the classifier, and no dense layer
  const Layer classifier_;
  TextInput input_ = TextInput::first;
  Activation dense_act_;
  TextLoss loss_ = TextLoss::cross_entropy;
  nn::PoolingBuffers pooling_;
  TransformLayer dense_;
  Matrix x_;  ///< what the classifier read
  Buffer rows_, features_, logits_, means_, spread_, d_features_, d_rows_;
  Buffer units_;    ///< [S, hops H] what attentive pooling gave, of length 1 ...
  Buffer lengths_;  ///< [S, 1] ... and the lengths before
};

}  // namespace bert::training
