#pragma once

#include "encoder/packed_batch.h"
#include "model/config.h"
#include "nn/dropout.h"
#include "training/parameters.h"

namespace bert::training {

/// DeBERTa's convolution behind the first layer (encoder/convolution.h), and its way back:
///   norm(hidden + act(dropout(conv(input))))
///
/// Thread rule: one per thread; forward() keeps what backward() needs.
class ConvolutionSublayer {
 public:
  /// `config` is borrowed.
  explicit ConvolutionSublayer(const Config& config) : config_(config) {}

  /// input, hidden [T, H] -> [T, H], valid until the next call.
  Matrix forward(const ModelWeights& weights, const nn::Dropout& drop, const PackedBatch& batch,
                 ConstMatrix input, ConstMatrix hidden);
  /// d [T, H] is the gradient of the output, and becomes that of `hidden`. Returns that of `input`,
  /// valid until the next call, and adds to `gradient`.
  Matrix backward(const ModelWeights& weights, const nn::Dropout& drop, const PackedBatch& batch,
                  Matrix d, const ModelWeights& gradient);
  ConstMatrix output(size_t tokens) const { return {output_.data(), tokens, config_.hidden_size}; }

 private:
  size_t wide() const { return config_.conv_kernel_size * config_.hidden_size; }
  /// Calls use(row of the windows, place in it, token) for each token that a window has.
  template <typename Use>
  void for_each_place(const PackedBatch& batch, Use use) const;
  /// Element (out, in, k) of the weights [H, H / groups, K], and where it is in [H, K H].
  template <typename Use>
  void for_each_weight(Use use) const;

  const Config& config_;
  Buffer spread_, d_spread_;    // [H, K H]
  Buffer windows_, d_windows_;  // [T, K H]
  Buffer dense_, d_dense_;      // [T, H] before the activation
  Buffer sum_, statistics_, output_, d_input_;
};

}  // namespace bert::training
