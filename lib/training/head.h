#pragma once

#include <vector>

#include "base/export.h"
#include "training/encoder.h"
#include "training/training_batch.h"

namespace bert::training {

/// What a classifier of texts is trained with, by the config's problem_type.
enum class TextLoss { cross_entropy, binary_cross_entropy, squared_error };

/// Sums over what passes have seen; added up in a fixed order.
struct BERT_API Tally {
  double token_loss = 0;     ///< masked LM, token classes
  double sequence_loss = 0;  ///< texts, next sentence, answers
  double tokens = 0;         ///< labelled ones (their class weights, where there are some)
  double sequences = 0;
  double labelled = 0;  ///< tokens and sequences with a label, whatever their class weighs
  size_t tokens_right = 0;
  size_t sequences_right = 0;
  size_t input_tokens = 0;

  Tally& operator+=(const Tally& other);
  /// The mean losses' sum: what training minimises.
  double loss() const;
};

/// Factors that turn sums into the means of a whole step, whatever passes it is cut into.
struct LossScale {
  float token = 0;
  float sequence = 0;
};

/// The head(s) of an objective: hidden states to logits, losses, and back.
///
/// Thread rule: one Head per thread.
class Head {
 public:
  static constexpr size_t kDecoderRows = 512;  ///< of masked LM's logits [M, V] held at once

  /// `plan` and `weights` are borrowed.
  Head(const HeadPlan& plan, const ModelWeights& weights, bool bf16 = false);

  /// How much of each kind `batch` holds, for LossScale: only tokens and sequences are set.
  Tally count(const TrainingBatch& batch) const;

  /// Losses of a batch. With `gradient`: d_hidden [T, H] is written, and the head's gradients are
  /// added to.
  Tally learn(const TrainingBatch& batch, ConstMatrix hidden, LossScale scale,
              const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden);

 private:
  Matrix features(const PackedBatch& batch, ConstMatrix hidden, const DropoutPlan& dropout);
  void features_backward(const PackedBatch& batch, Matrix d_features, const DropoutPlan& dropout,
                         const ModelWeights& gradient, Matrix d_hidden);
  void learn_masked(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                    const ModelWeights* gradient, Matrix d_hidden, Tally& tally);
  void learn_sequences(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                       const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden,
                       Tally& tally);
  void learn_tokens(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                    const DropoutPlan& dropout, const ModelWeights* gradient, Matrix d_hidden,
                    Tally& tally);
  void learn_spans(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                   const ModelWeights* gradient, Matrix d_hidden, Tally& tally);
  void learn_vectors(const TrainingBatch& batch, ConstMatrix hidden, float scale,
                     const ModelWeights* gradient, Matrix d_hidden, Tally& tally);
  double text_loss(const TrainingBatch& batch, Matrix logits, float scale, size_t& right) const;

  const Config& config_;
  const Objective objective_;
  const ModelWeights& weights_;
  const std::vector<float>& class_weights_;
  TextLoss text_loss_ = TextLoss::cross_entropy;
  const LinearWeights* dense_;       // before the classifier of texts
  const LinearWeights* classifier_;  // of texts
  Activation dense_act_;
  Buffer rows_, dense_out_, features_, logits_, d_features_, d_rows_, masked_;
  Buffer transformed_, transform_act_, transform_norm_, transform_statistics_, d_transform_;
  std::vector<int32_t> labels_;
  std::vector<size_t> positions_;
  Bf16Products products_;
  Bf16Products* const bf16_;  ///< for the masked LM's products, which are large
};

}  // namespace bert::training
