#pragma once

#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "ops/linear.h"

namespace bert::training {

/// What some heads put hidden states through first, and the way back: norm(act(W x + b)). Without a
/// norm that is left out, without W all is.
///
/// Thread rule: one per thread; forward() keeps what backward() needs.
class TransformLayer {
 public:
  /// The parameters, or their gradients.
  struct Weights {
    nn::LinearWeights dense;  ///< [N, H]
    nn::NormWeights norm = {};
  };

  /// x [M, H], which must live until backward() -> [M, N], valid until the next call; x itself if
  /// there is nothing to do.
  ConstMatrix forward(const Weights& weights, Activation act, const nn::NormPlan& norm,
                      ConstMatrix x, nn::Bf16Products* bf16 = nullptr);
  /// From d [M, N], which it may overwrite, computes dx [M, H] and adds to `gradient`.
  void backward(const Weights& weights, Activation act, const nn::NormPlan& norm, Matrix d,
                const Weights& gradient, Matrix dx, nn::Bf16Products* bf16 = nullptr);

 private:
  ConstMatrix x_;
  Buffer dense_, activated_, normal_, statistics_;
};

}  // namespace bert::training
