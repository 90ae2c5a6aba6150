#pragma once

#include "encoder/packed_batch.h"
#include "ops/matrix.h"

namespace bert::training {

/// T5's table of buckets, as attention by distance reads it, and back (encoder/position_bias.h).
///
/// Thread rule: one per thread.
class PositionBias {
 public:
  /// Makes rows() from `table` [buckets, A] for the sequences of `batch`, and sets gradient() to 0.
  /// A table without data: both are empty. `scale`: the factor of scores in attention.
  void spread(ConstMatrix table, const PackedBatch& batch, float scale);
  /// AttentionPlan::bias, [A, 2P - 1] where P tokens are the longest sequence.
  ConstMatrix rows() const { return rows_; }
  /// Their gradient, to which all layers add.
  Matrix gradient() const { return d_rows_; }
  /// Adds to the table's gradient [buckets, A].
  void gather(Matrix d_table) const;

 private:
  Matrix rows_, d_rows_;
  Buffer values_, gradients_;
  float scale_ = 1;
};

}  // namespace bert::training
