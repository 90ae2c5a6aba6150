#pragma once

#include "training/head.h"

namespace bert::training {

/// Question answering: for each token, how well an answer begins and how well it ends there.
class SpanHead : public Head {
 public:
  SpanHead(const HeadPlan& plan, const ModelWeights& weights, bool /*bf16*/)
      : Head(plan, weights) {}

  Tally count(const TrainingBatch& batch) const override;
  void add_losses(const HeadPass& pass, Tally& tally) override;

 private:
  TransformLayer transform_;
  Buffer input_, logits_, column_, taught_column_, d_read_;
};

}  // namespace bert::training
