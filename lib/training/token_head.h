#pragma once

#include "nn/recurrent.h"
#include "training/head.h"

namespace bert::training {

/// A class for each token, of its hidden state or of a BiLSTM over layers that do not learn.
class TokenHead : public Head {
 public:
  TokenHead(const HeadPlan& plan, const ModelWeights& weights, bool bf16);

  void add_losses(const HeadPass& pass, Tally& tally) override;

 private:
  /// The BiLSTM's outputs [T, 2 N] for x [T, W].
  Matrix through_bilstm(const HeadPass& pass, ConstMatrix x);

  nn::RecurrentStack bilstm_;
  TransformLayer transform_;
  Buffer input_, bilstm_out_, d_bilstm_, logits_, d_read_;
};

}  // namespace bert::training
