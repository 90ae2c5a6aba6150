#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "training/encoder.h"
#include "training/parameters.h"
#include "training/tally.h"
#include "training/training_batch.h"
#include "training/transform_layer.h"

namespace bert::training {

/// What a head learns from.
struct HeadPass {
  const TrainingBatch& batch;
  ConstMatrix hidden;  ///< [T, H]; before a BiLSTM, the vectors of the layers that it reads [T, W]
  LossScale scale = {};
  DropoutPlan dropout = {};
  const ModelWeights* gradient = nullptr;  ///< nullptr: only the losses are wanted
  Matrix d_hidden = {};                    ///< [T, H]; zeros before a BiLSTM
};

/// The head of one objective: from hidden states to logits and losses, and backward. head.cpp has
/// the table of heads.
///
/// Thread rule: one Head per thread.
class Head {
 public:
  /// `plan` and `weights` are borrowed. `bf16`: computes large products in bfloat16.
  static std::unique_ptr<Head> make(const HeadPlan& plan, const ModelWeights& weights,
                                    bool bf16 = false);
  virtual ~Head() = default;

  /// The tokens and sequences of `batch` that have a loss, for LossScale; losses are not set.
  virtual Tally count(const TrainingBatch& batch) const;
  /// Adds the losses of the pass. With a gradient, also adds to the head's gradients and to
  /// d_hidden.
  virtual void add_losses(const HeadPass& pass, Tally& tally) = 0;

  /// The counts and losses of the pass. With a gradient, writes d_hidden.
  Tally learn(const HeadPass& pass);

 protected:
  static constexpr uint64_t kHeadSite = 8, kDenseSite = 9, kBilstmSite = 10;  ///< keys of dropout

  /// What classifiers and answers put hidden states through, where the family has such a layer.
  static TransformLayer::Weights transform_of(const ModelWeights& w) {
    return {w.head_dense, w.head_norm};
  }

  /// nn::cross_entropy() of rows with these labels, and of a teacher's logits for the rows, if the
  /// plan gives it a share. `learns`: the loss is smoothed as the plan says.
  double class_loss(Matrix logits, std::span<const int32_t> labels, ConstMatrix teacher,
                    float scale, bool learns, size_t& right);

  Head(const HeadPlan& plan, const ModelWeights& weights) : plan_(plan), weights_(weights) {}

  const HeadPlan& plan_;
  const ModelWeights& weights_;

 private:
  Buffer taught_;
};

}  // namespace bert::training
