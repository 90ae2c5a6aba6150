#pragma once

#include <vector>

#include "training/sublayers.h"

namespace bert::training {

/// What a layer of MobileBERT has more than attention and one net (encoder/bottleneck.h), or its
/// gradients. Its attention's `qkv` makes queries and keys alone.
struct BottleneckWeights {
  nn::LinearWeights entry, shared;  ///< [B, H]
  nn::NormWeights entry_norm, shared_norm;
  nn::LinearWeights value;               ///< [A D, H]
  std::vector<FeedForwardWeights> nets;  ///< before the one that all layers have
  nn::LinearWeights exit;                ///< [H, B]
  nn::NormWeights exit_norm;

  explicit operator bool() const { return entry.weight.data; }
};

/// A layer of MobileBERT (Sun et al. 2020, figure 1):
///
///   y = norm(enter(x) + attention(share(x), share(x), x))   [T, B]
///   y = norm(y + net(y)), for each net
///   norm(x + dropout(leave(y)))                             [T, H]
///
/// Thread rule: one per thread; forward() keeps what the way back needs.
class BottleneckLayer {
 public:
  /// The parameters, or their gradients.
  struct Weights {
    const AttentionWeights& attention;
    const FeedForwardWeights& net;
    const BottleneckWeights& bottleneck;
  };

  /// x [T, H] -> [T, H], valid until the next call. `dropout` is that of the output.
  Matrix forward(const Weights& weights, const nn::AttentionPlan& plan, const SublayerForm& form,
                 const nn::Dropout& dropout, ConstMatrix x, SublayerScratch& scratch);
  /// The way back to what attention gave. d [T, H] is the gradient of the output; what of it goes
  /// to x directly stays there.
  void backward_nets(const Weights& weights, const SublayerForm& form, const nn::Dropout& dropout,
                     Matrix d, const Weights& gradient, SublayerScratch& scratch);
  /// The rest of the way; d becomes the gradient of x.
  void backward_attention(const Weights& weights, const nn::AttentionPlan& plan,
                          const SublayerForm& form, ConstMatrix x, Matrix d,
                          const Weights& gradient, SublayerScratch& scratch);

 private:
  /// A product and its norm, and its way back, which adds to d.
  struct Entry {
    Buffer product, normal;  ///< [T, B]

    Matrix forward(const nn::LinearWeights& linear, const nn::NormWeights& norm,
                   const SublayerForm& form, ConstMatrix x, SublayerScratch& scratch);
    void backward(const nn::LinearWeights& linear, const nn::NormWeights& norm,
                  const SublayerForm& form, ConstMatrix x, Matrix d_normal, Matrix d,
                  const nn::LinearWeights& d_linear, const nn::NormWeights& d_norm,
                  SublayerScratch& scratch);
  };
  /// The parameters of net n of all.
  static const FeedForwardWeights& net(const Weights& weights, size_t n) {
    return n < weights.bottleneck.nets.size() ? weights.bottleneck.nets[n] : weights.net;
  }

  Entry entry_, shared_;
  Buffer query_key_;  ///< [T, 2 A D]
  Buffer value_;      ///< [T, A D]
  Buffer log_sums_;   ///< [A, T]
  Buffer context_;    ///< [T, A D]
  SublayerExit attention_exit_;
  std::vector<FeedForwardSublayer> nets_;
  std::vector<ConstMatrix> inputs_;  ///< the nets' inputs, and what the last one gives [T, B]
  SublayerExit exit_;
  Buffer d_narrow_, d_shared_;  ///< [T, B]
};

}  // namespace bert::training
