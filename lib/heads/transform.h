#pragma once

#include "checkpoint/weights.h"
#include "encoder/norm.h"
#include "encoder/workspace.h"
#include "ops/linear.h"

namespace bert {

/// What some heads put hidden states through first: LN(act(W h + b)).
///
/// Thread rule: const after load; one workspace per thread.
class HeadTransform {
 public:
  /// The transform of classifiers and of answers, in families that have one (TextHead::transform);
  /// else one that does nothing. Throws Error(data) naming the tensor.
  static HeadTransform load(const Config& config, const Weights& weights);
  /// That of the masked LM head; one that does nothing in families without it.
  static HeadTransform load_mlm(const Config& config, const Weights& weights, Precision precision);

  explicit operator bool() const { return static_cast<bool>(dense_); }
  size_t out_features() const { return dense_.out_features(); }
  /// x [M, H] -> out [M, E], other memory.
  void operator()(ConstMatrix x, Matrix out, LinearScratch& scratch) const;
  /// The same in `buffer`; x itself if there is nothing to do.
  ConstMatrix operator()(ConstMatrix x, Buffer& buffer, LinearScratch& scratch) const;

 private:
  Linear dense_;  ///< [E, H]
  Activation act_ = Activation::none;
  Norm norm_;
};

}  // namespace bert
