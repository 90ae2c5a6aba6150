#pragma once

#include <array>

#include "encoder/rotary.h"
#include "model/family.h"
#include "nn/attention_gradient.h"
#include "nn/dropout.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert::training {

/// The parameters of an attention sublayer, or their gradients. Self-attention has `qkv`;
/// attention to other states has `query` and `pairs`. A D = H in most models.
struct AttentionWeights {
  nn::LinearWeights qkv;  ///< [(A + 2K) D, H]: query, key, value
  /// Of queries, keys and values, where they are not one with `qkv`: some of them have none.
  std::array<float*, 3> biases = {};
  size_t key_width = 0, head_size = 0;  ///< K D and D, of `qkv`
  nn::LinearWeights query;              ///< [H, H]
  nn::LinearWeights pairs;              ///< [2H, H]: key, value
  nn::LinearWeights output;             ///< [H, A D]
  nn::NormWeights norm, exit_norm;
  nn::NormWeights query_norm, key_norm;            ///< [D], over each head
  nn::LinearWeights position_key, position_query;  ///< [A D, H], of vectors of distances
};

/// The parameters of a feed-forward sublayer, or their gradients.
struct FeedForwardWeights {
  nn::LinearWeights intermediate;  ///< [I, H]; of a gated net [2I, H], the gate first
  nn::LinearWeights output;        ///< [H, I]
  nn::NormWeights norm, exit_norm;
};

/// How a sublayer computes, as its family says.
struct SublayerForm {
  nn::NormPlan norm;
  NormPlace norms = NormPlace::after;
  Activation act = Activation::gelu;  ///< activation of the feed-forward net
  bool gated = false;                 ///< act(gate) * up, not act(..)
};

/// Where tokens stand: queries and keys turn by it.
struct Turns {
  Rotary rotary;  ///< theta 0: they do not turn
  const PackedBatch* batch = nullptr;
};

/// What all sublayers of a thread share, one after the other.
struct SublayerScratch {
  Buffer d_dense, d_wide, d_gated, d_context, d_query, d_pairs, d_entered;
  RotaryTables turns;
  nn::AttentionBuffers attention;
  nn::Bf16Products* bf16 = nullptr;  ///< computes the products; nullptr: in float
};

/// How each sublayer begins where norms stand before: norm(x). Else, and before a first layer that
/// has no norm of its own, with x itself.
///
/// Thread rule: one per thread; forward() keeps what backward() needs.
class SublayerEntry {
 public:
  /// [T, H], valid until the next call.
  ConstMatrix forward(const nn::NormWeights& weights, const SublayerForm& form, ConstMatrix x);
  /// What the last forward() gave.
  ConstMatrix entered() const { return entered_; }
  /// Where the gradient of the last result is to be summed up: `d`, the gradient of the residual x,
  /// if that result is x itself; else zeros.
  Matrix gradient(Matrix d, SublayerScratch& scratch) const;
  /// Adds what stands there to d and to `gradient`.
  void backward(const nn::NormWeights& weights, const SublayerForm& form, ConstMatrix x,
                Matrix d_entered, Matrix d, const nn::NormWeights& gradient) const;

 private:
  Buffer normal_;              ///< [T, H]
  mutable Buffer statistics_;  ///< [T, 2]
  ConstMatrix entered_;
  bool norms_ = false;
};

/// How each sublayer ends, where y [T, K] is what it computed of x [T, H]:
///   norms after    norm(x + dropout(W_o y))
///   before         x + dropout(W_o y)
///   around         x + norm(dropout(W_o y))
///
/// Thread rule: one per thread; forward() keeps what backward() needs.
class SublayerExit {
 public:
  /// The parameters, or their gradients.
  struct Weights {
    const nn::LinearWeights& output;  ///< [H, K]
    const nn::NormWeights& norm;      ///< that at the exit
  };

  /// [T, H], valid until the next call.
  Matrix forward(const Weights& weights, const SublayerForm& form, const nn::Dropout& dropout,
                 ConstMatrix y, ConstMatrix x, SublayerScratch& scratch);
  /// d [T, H] is the gradient of the output, and becomes that of the residual x. Writes the
  /// gradient of y to dy, and adds to `gradient`.
  void backward(const Weights& weights, const SublayerForm& form, const nn::Dropout& dropout,
                ConstMatrix y, Matrix d, Matrix dy, const Weights& gradient,
                SublayerScratch& scratch);
  /// The output of the last forward() [T, H].
  ConstMatrix output(size_t tokens, size_t width) const { return {output_.data(), tokens, width}; }

 private:
  Buffer sum_;         ///< [T, H] before the norm, if there is one
  Buffer statistics_;  ///< [T, 2]
  Buffer output_;      ///< [T, H]
};

/// attention(x W_q, s W_k, s W_v) between entry and exit   (Vaswani et al. 2017)
///
/// x [T, H] asks, s [U, H] is asked. In self-attention s is x, or its norm. Queries and keys may
/// have norms of each head, and then turn by their place.
///
/// Thread rule: one per thread; forward() keeps what backward() needs.
class AttentionSublayer {
 public:
  /// [T, H], valid until the next call. `dropout` is that of the output.
  Matrix forward(const AttentionWeights& weights, const nn::AttentionPlan& plan,
                 const SublayerForm& form, const nn::Dropout& dropout, ConstMatrix x,
                 ConstMatrix states, SublayerScratch& scratch, const Turns& turns = {});
  /// The way back of the last forward(), with the same arguments. d [T, H] is the gradient of the
  /// output, and becomes that of x. Adds to `gradient`; to `d_states` where s is not x; and to
  /// d_bias, if it has data.
  void backward(const AttentionWeights& weights, const nn::AttentionPlan& plan,
                const SublayerForm& form, const nn::Dropout& dropout, ConstMatrix x,
                ConstMatrix states, Matrix d, Matrix d_states, const AttentionWeights& gradient,
                SublayerScratch& scratch, Matrix d_bias = {}, const Turns& turns = {});

 private:
  struct Views {
    Matrix q, k, v;
  };
  static Views views(const AttentionWeights& weights, Buffer& query, Buffer& pairs, size_t tokens,
                     size_t states);
  /// Queries, keys and values of self-attention as attention reads them.
  void project(const AttentionWeights& weights, const SublayerForm& form, ConstMatrix x,
               SublayerScratch& scratch, const Turns& turns);
  /// The way back: d_query of `scratch`, of q, k and v, becomes that of the product.
  void project_backward(const AttentionWeights& weights, const SublayerForm& form, ConstMatrix x,
                        const AttentionWeights& gradient, SublayerScratch& scratch,
                        const Turns& turns);
  Buffer& asked(const AttentionWeights& weights) {
    return weights.query_norm.weight ? normal_ : query_;
  }

  SublayerEntry entry_;
  Buffer query_;       ///< [T, (A + 2K) D] of self-attention, else [T, H]
  Buffer normal_;      ///< the same behind the norms of heads
  Buffer statistics_;  ///< [T (A + K), 2], of these norms
  Buffer pairs_;       ///< [U, 2H], unless self-attention
  Buffer log_sums_;    ///< [A, T]
  Buffer context_;     ///< [T, A D]
  SublayerExit exit_;
};

/// W_o act(W_i x), or W_o (act(W_g x) * W_u x) in a gated net, between entry and exit
///
/// Thread rule: as AttentionSublayer.
class FeedForwardSublayer {
 public:
  /// As AttentionSublayer::forward.
  Matrix forward(const FeedForwardWeights& weights, const SublayerForm& form,
                 const nn::Dropout& dropout, ConstMatrix x, SublayerScratch& scratch);
  void backward(const FeedForwardWeights& weights, const SublayerForm& form,
                const nn::Dropout& dropout, ConstMatrix x, Matrix d,
                const FeedForwardWeights& gradient, SublayerScratch& scratch);
  /// The output of the last forward() [T, H].
  ConstMatrix output(size_t tokens, size_t width) const { return exit_.output(tokens, width); }

 private:
  SublayerEntry entry_;
  Buffer intermediate_;  ///< [T, I] or [T, 2I] before the activation
  Buffer activated_;     ///< [T, I]
  Buffer product_;       ///< [T, I] of a gated net
  SublayerExit exit_;
};

}  // namespace bert::training
