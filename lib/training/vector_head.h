#pragma once

#include "training/head.h"

namespace bert::training {

/// The mean of a sequence's hidden states, which learns to point where a teacher's vector does. It
/// has no parameters.
class VectorHead : public Head {
 public:
  VectorHead(const HeadPlan& plan, const ModelWeights& weights, bool /*bf16*/)
      : Head(plan, weights) {}

  Tally count(const TrainingBatch& batch) const override;
  void add_losses(const HeadPass& pass, Tally& tally) override;

 private:
  Buffer mean_;  ///< [1, H]
};

}  // namespace bert::training
