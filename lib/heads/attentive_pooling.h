#pragma once

#include "base/export.h"
#include "checkpoint/weights.h"
#include "encoder/packed_batch.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// A text's vectors as weighted sums of its tokens' (Lin et al. 2017, "A structured self-attentive
/// sentence embedding"): each of r hops has weights of its own for the n tokens.
///
///   A [r, n] = softmax(V tanh(W H^T))   over the tokens; W [size, H], V [r, size], no biases
///   C [r, H] = A H                      the r vectors, side by side: r H numbers, which are
///                                       scaled to length 1 where the config says so
///
/// All tokens of a text count, also [CLS] and [SEP], as in pool().
///
/// Thread rule: const after load; one scratch per thread.
class BERT_API AttentivePooling {
 public:
  /// What `config` says a classifier has (bertutils_pooling); one with no hops if it says nothing.
  /// Throws Error(data) naming the tensor.
  static AttentivePooling load(const Config& config, const Weights& weights);

  size_t hops() const { return hops_.out_features(); }
  explicit operator bool() const { return static_cast<bool>(hops_); }

  /// hidden [T, H] -> pooled [S, r H]. The weights of a text's first `skipped` tokens are 0, unless
  /// it has no others. The bits of a row depend only on its sequence.
  void operator()(const PackedBatch& batch, ConstMatrix hidden, Matrix pooled, size_t skipped,
                  LinearScratch& scratch) const;

 private:
  Linear hidden_;  ///< W
  Linear hops_;    ///< V
  bool unit_ = false;
};

}  // namespace bert
