#pragma once

#include "nn/attention_gradient.h"
#include "nn/dropout.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert::training {

/// The parameters of an attention sublayer, or their gradients. Self-attention has `qkv`;
/// attention to other states has `query` and `pairs`.
struct AttentionWeights {
  nn::LinearWeights qkv;     ///< [3H, H]: query, key, value
  nn::LinearWeights query;   ///< [H, H]
  nn::LinearWeights pairs;   ///< [2H, H]: key, value
  nn::LinearWeights output;  ///< [H, H]
  nn::NormWeights norm;
};

/// The parameters of a feed-forward sublayer, or their gradients.
struct FeedForwardWeights {
  nn::LinearWeights intermediate;  ///< [I, H]
  nn::LinearWeights output;        ///< [H, I]
  nn::NormWeights norm;
};

/// What all sublayers of a thread share, one after the other.
struct SublayerScratch {
  Buffer d_dense, d_wide, d_context, d_query, d_pairs;
  nn::AttentionBuffers attention;
  nn::Bf16Products* bf16 = nullptr;  ///< computes the products; nullptr: in float
};

/// How each sublayer ends: norm(x + dropout(W_o y)), where y [T, K] is what the sublayer computed
/// of x [T, H].
///
/// Thread rule: one per thread; forward() keeps what backward() needs.
class SublayerExit {
 public:
  /// The parameters, or their gradients.
  struct Weights {
    const nn::LinearWeights& output;  ///< [H, K]
    const nn::NormWeights& norm;
  };

  /// [T, H], valid until the next call.
  Matrix forward(const Weights& weights, float norm_eps, const nn::Dropout& dropout, ConstMatrix y,
                 ConstMatrix x, SublayerScratch& scratch);
  /// d [T, H] is the gradient of the output, and becomes that of the residual x. Writes the
  /// gradient of y to dy, and adds to `gradient`.
  void backward(const Weights& weights, const nn::Dropout& dropout, ConstMatrix y, Matrix d,
                Matrix dy, const Weights& gradient, SublayerScratch& scratch);
  /// The output of the last forward() [T, H].
  ConstMatrix output(size_t tokens, size_t width) const { return {output_.data(), tokens, width}; }

 private:
  Buffer sum_;         ///< [T, H] before the norm
  Buffer statistics_;  ///< [T, 2]
  Buffer output_;      ///< [T, H]
};

/// norm(x + dropout(W_o attention(x W_q, s W_k, s W_v)))   (Vaswani et al. 2017, post-norm)
///
/// x [T, H] asks, s [U, H] is asked. In self-attention s is x.
///
/// Thread rule: one per thread; forward() keeps what backward() needs.
class AttentionSublayer {
 public:
  /// [T, H], valid until the next call. `dropout` is that of the output.
  Matrix forward(const AttentionWeights& weights, const nn::AttentionPlan& plan, float norm_eps,
                 const nn::Dropout& dropout, ConstMatrix x, ConstMatrix states,
                 SublayerScratch& scratch);
  /// The way back of the last forward(), with the same arguments. d [T, H] is the gradient of the
  /// output, and becomes that of x. Adds to `gradient`; to `d_states` where s is not x; and to
  /// d_bias, if it has data.
  void backward(const AttentionWeights& weights, const nn::AttentionPlan& plan,
                const nn::Dropout& dropout, ConstMatrix x, ConstMatrix states, Matrix d,
                Matrix d_states, const AttentionWeights& gradient, SublayerScratch& scratch,
                Matrix d_bias = {});

 private:
  struct Views {
    Matrix q, k, v;
  };
  static Views views(const AttentionWeights& weights, Buffer& query, Buffer& pairs, size_t tokens,
                     size_t states, size_t width);

  Buffer query_;     ///< [T, 3H] of self-attention, else [T, H]
  Buffer pairs_;     ///< [U, 2H], unless self-attention
  Buffer log_sums_;  ///< [A, T]
  Buffer context_;   ///< [T, H]
  SublayerExit exit_;
};

/// norm(x + dropout(W_o act(W_i x)))
///
/// Thread rule: as AttentionSublayer.
class FeedForwardSublayer {
 public:
  /// As AttentionSublayer::forward.
  Matrix forward(const FeedForwardWeights& weights, Activation act, float norm_eps,
                 const nn::Dropout& dropout, ConstMatrix x, SublayerScratch& scratch);
  void backward(const FeedForwardWeights& weights, Activation act, const nn::Dropout& dropout,
                ConstMatrix x, Matrix d, const FeedForwardWeights& gradient,
                SublayerScratch& scratch);
  /// The output of the last forward() [T, H].
  ConstMatrix output(size_t tokens, size_t width) const { return exit_.output(tokens, width); }

 private:
  Buffer intermediate_;  ///< [T, I] before the activation
  Buffer activated_;     ///< [T, I]
  SublayerExit exit_;
};

}  // namespace bert::training
