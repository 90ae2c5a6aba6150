#pragma once

#include <cstdint>
#include <vector>

#include "encoder/packed_batch.h"

namespace bert::training {

/// Sequences with what the model should say of them; the objective decides which lists are filled.
struct TrainingBatch {
  PackedBatch batch;
  std::vector<int32_t> token_labels;     ///< [T]: the true ids where masked, or token classes
  std::vector<int32_t> sequence_labels;  ///< [S]: classes, or 0 IsNext, 1 NotNext
  std::vector<float> values;  ///< [S, labels]: regression, several labels a text; [S, H] vectors
  std::vector<int32_t> starts, ends;  ///< [S]: token of the sequence, first and last of the answer
  size_t head = 0;                    ///< which of the learner's heads learns it

  void clear();
  size_t tokens() const { return batch.tokens(); }
  size_t sequences() const { return batch.sequences(); }
};

/// Sequences [first, last) of `from`.
void slice(const TrainingBatch& from, size_t first, size_t last, TrainingBatch& to);

}  // namespace bert::training
