#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "encoder/packed_batch.h"
#include "ops/matrix.h"
#include "seq2seq/decoder.h"

namespace bert {

/// Collects what heads do, layer by layer and row by row of a batch of targets, and shows it target
/// by target.
class AttentionCollector {
 public:
  /// Borrows everything. head_size: D.
  AttentionCollector(const PackedBatch& sources, const PackedBatch& targets,
                     const AttentionTrace& trace, size_t head_size);

  /// Notes what row `row` of the targets did in this layer: scores and weights [heads, m], context
  /// [heads, D].
  void note(size_t layer, size_t row, ConstMatrix scores, ConstMatrix weights, ConstMatrix context);
  /// Shows all.
  void show() const;

 private:
  struct Head {
    size_t layer, head;
    std::vector<float> scores, weights;  ///< [n, m] of each target, one behind the other
    std::vector<float> context;          ///< [T, D]
  };
  const PackedBatch& sources_;
  const PackedBatch& targets_;
  const AttentionTrace& trace_;
  size_t head_size_;
  std::vector<size_t> begins_;    ///< [S + 1]: where the matrices of each target begin
  std::vector<size_t> sequence_;  ///< [T]: of each row
  std::vector<Head> heads_;
};

}  // namespace bert
