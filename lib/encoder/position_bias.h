#pragma once

#include <memory>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "model/config.h"
#include "ops/attention_kernel.h"

namespace bert {

/// What attention adds to the score of two tokens by their distance, one number for each head: the
/// same in all layers (Raffel et al. 2020, T5, section 2.1; Song et al. 2020, MPNet).
///
/// nullptr if the model has no such bias. Throws Error(data) naming the tensor.
std::unique_ptr<const AttentionBias> load_position_bias(const Config& config,
                                                        const Weights& weights);

/// Which of T5's buckets a distance has. With 32 of them, rows 0 .. 15 are for keys before the
/// query and 16 .. 31 for keys behind it; distances below 8 have a bucket each, larger ones share
/// them by logarithm, from 128 on the last one.
struct BERT_API DistanceBuckets {
  size_t count = 32;
  size_t farthest = 128;
  bool both_sides = true;  ///< else all are for keys before the query, or at its place (a decoder)

  /// Of a key that stands `distance` tokens behind the query.
  size_t of(ptrdiff_t distance) const;
};

/// Numbers by distance, for texts of any length.
class BucketBias : public AttentionBias {
 public:
  /// Of layer `layer`, which has the table. Throws Error(data) naming the tensor.
  static BucketBias load(const Config& config, const Weights& weights, size_t layer);
  HeadBias of(size_t head, ConstMatrix q, ConstMatrix k, Buffer& scratch) const override;
  /// For a query at place n - 1 and the keys at 0 .. n - 1: row `head` of out [heads, n].
  void of_last(size_t n, Matrix out) const;

 private:
  float at(size_t head, ptrdiff_t distance) const;

  size_t heads_ = 0;
  ptrdiff_t farthest_ = 0;   ///< all distances beyond have the number of this one
  std::vector<float> rows_;  ///< [heads, 2 farthest + 1]
};

}  // namespace bert
