#pragma once

#include <functional>
#include <span>
#include <vector>

#include "checkpoint/weights.h"
#include "encoder/norm.h"
#include "encoder/position_bias.h"
#include "model/config.h"
#include "ops/linear.h"
#include "ops/look.h"
#include "ops/matrix.h"

namespace bert {

/// Activations of one thread for DecoderLayer; R rows.
struct DecoderScratch {
  Buffer qkv;                                   ///< [R, 3AD]
  Buffer query;                                 ///< [R, AD] of the source
  Buffer context;                               ///< [R, AD]
  Buffer attended, normed;                      ///< [R, H]
  Buffer intermediate;                          ///< [R, I], of a gated net [R, 2I]
  std::vector<std::vector<const float*>> keys;  ///< places of the keys, for each thread
  std::vector<Buffer> looks;  ///< scratch of attention to the source, for each thread
  LinearScratch linear;
};

/// One block of a decoder (Vaswani et al. 2017, 3.1): attention to the target's tokens so far, to
/// the source, and the feed-forward net, each with its residual and a norm behind it or before it.
/// Keys and values lie in pairs [K, V] of 2AD floats, so that a cache may put them anywhere.
class DecoderLayer {
 public:
  /// Throws Error(data) naming a tensor of layer `index`. `bias` is added to the scores of the
  /// target's tokens and must outlive the layer, or nullptr.
  static DecoderLayer load(const Config& config, const Weights& weights, size_t index,
                           Precision precision, const BucketBias* bias);

  /// From here on this head makes zeros of the source.
  void ablate(size_t head) { off_.push_back(head); }
  /// Keys and values of the source for all steps: states [T, H] -> pairs [T, 2AD].
  void source_pairs(ConstMatrix states, Matrix pairs, LinearScratch& scratch) const;

  /// Adds to `keys` where the pairs of a row lie, in the order of places.
  using Places = std::function<void(size_t row, std::vector<const float*>& keys)>;
  /// Sees what a row did with its source: scores and weights [heads, places], context [heads, D].
  using Show =
      std::function<void(size_t row, ConstMatrix scores, ConstMatrix weights, ConstMatrix context)>;
  struct Rows {
    /// Called with the pairs [R, 2AD] that the rows have made, before any row looks at them.
    std::function<void(ConstMatrix pairs)> keep;
    Places own, source;
    Show show;  ///< or empty; called row by row
  };
  /// hidden [R, H] -> hidden [R, H], in place. The bits of a row depend on itself and the pairs it
  /// looks at only.
  void forward(Matrix hidden, const Rows& rows, DecoderScratch& scratch) const;

 private:
  /// Each row of queries looks at its places: context [R, AD].
  void look(ConstMatrix queries, const Places& places, const BucketBias* bias, const Show* show,
            Matrix context, DecoderScratch& scratch) const;
  /// What a sublayer reads of x: itself, or its norm in `buffer` where norms stand before.
  ConstMatrix entry(const Norm& norm, ConstMatrix x, Buffer& buffer) const;
  /// The norm behind a sublayer, in place.
  void leave(const Norm& norm, Matrix x) const {
    if (!norms_before_) norm(x, x);
  }
  void attend_own(Matrix hidden, const Rows& rows, Matrix context, DecoderScratch& scratch) const;
  void attend_source(Matrix hidden, const Rows& rows, Matrix context,
                     DecoderScratch& scratch) const;
  void feed_forward(Matrix hidden, DecoderScratch& scratch) const;

  Linear qkv_;     ///< [3AD, H]
  Linear output_;  ///< [H, AD]
  Norm norm_;
  Linear cross_query_;  ///< [AD, H]
  Linear cross_pairs_;  ///< [2AD, H]: keys, then values
  Linear cross_output_;
  Norm cross_norm_;
  Linear intermediate_;  ///< [I, H], of a gated net [2I, H]
  Linear net_output_;    ///< [H, I]
  Norm net_norm_;
  bool norms_before_ = false, gated_ = false;
  const BucketBias* bias_ = nullptr;
  Activation act_ = Activation::gelu;
  Look look_;
  std::vector<size_t> off_;  ///< heads that are ablated
};

}  // namespace bert
