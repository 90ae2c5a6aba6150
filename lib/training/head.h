#pragma once

#include <vector>

#include "nn/attentive_pooling.h"
#include "training/encoder.h"
#include "training/tally.h"
#include "training/training_batch.h"

namespace bert::training {

/// The loss of a classifier of texts; problem_type in the config decides.
enum class TextLoss { cross_entropy, binary_cross_entropy, squared_error };

/// The head or heads of an objective: from hidden states to logits and losses, and backward.
///
/// Thread rule: one Head per thread.
class Head {
 public:
  static constexpr size_t kDecoderRows = 512;  ///< rows of the masked LM logits [M, V] in memory at
                                               ///< once

  /// `plan` and `weights` are borrowed.
  Head(const HeadPlan& plan, const ModelWeights& weights, bool bf16 = false);

  /// The tokens and sequences of `batch` that have a loss, for LossScale; losses are not set.
  Tally count(const TrainingBatch& batch) const;

  /// The losses of a batch. With a BiLSTM, `hidden` are the vectors of the layers that it reads,
  /// [T, W], and they get no gradient. With `gradient`, also writes d_hidden [T, H] and adds to the
  /// head's gradients.
  Tally learn(const TrainingBatch& batch, ConstMatrix hidden, LossScale scale,
              const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden);

 private:
  Matrix features(const PackedBatch& batch, ConstMatrix hidden, const DropoutPlan& dropout);
  void features_backward(const PackedBatch& batch, ConstMatrix hidden, Matrix d_features,
                         float penalty, const DropoutPlan& dropout, const ModelWeights& gradient,
                         Matrix d_hidden);
  void learn_masked(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                    const ModelWeights* gradient, Matrix d_hidden, Tally& tally);
  void learn_sequences(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                       const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden,
                       Tally& tally);
  void learn_tokens(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                    const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden,
                    Tally& tally);
  void learn_spans(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                   const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden,
                   Tally& tally);
  void learn_vectors(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                     const ModelWeights* gradient, Matrix d_hidden, Tally& tally);
  Matrix attentive_features(const PackedBatch& batch, ConstMatrix hidden,
                            const DropoutPlan& dropout);
  double text_loss(const TrainingBatch& batch, Matrix logits, float scale, size_t& right) const;

  const Config& config_;
  const Objective objective_;
  const ModelWeights& weights_;
  const std::vector<float>& class_weights_;
  TextLoss text_loss_ = TextLoss::cross_entropy;
  const nn::LinearWeights* dense_;       // before the classifier of texts
  const nn::LinearWeights* classifier_;  // of texts
  Activation dense_act_;
  const bool attentive_;  ///< attentive pooling stands before the classifier, and no dense layer
  const float hop_penalty_;
  nn::PoolingBuffers pooling_;
  Buffer rows_, dense_out_, features_, logits_, d_features_, d_rows_, masked_;
  Buffer transformed_, transform_act_, transform_norm_, transform_statistics_, d_transform_;
  std::vector<int32_t> labels_;
  std::vector<size_t> positions_;
  nn::RecurrentStack bilstm_;
  Buffer bilstm_out_, d_bilstm_;
  nn::Bf16Products products_;
  nn::Bf16Products* const bf16_;  ///< for the large products of masked LM
};

}  // namespace bert::training
