#pragma once

#include <cstdint>
#include <vector>

#include "encoder/packed_batch.h"

namespace bert::training {

/// Sequences with their labels. The objective decides which lists are filled.
struct TrainingBatch {
  PackedBatch batch;
  PackedBatch
      target;  ///< [S] of a decoder: the tokens it is to write, the end token last; else empty
  std::vector<int32_t> token_labels;     ///< [T]: true ids of masked tokens, or token classes; of
                                         ///< vectors of tokens, 1 for those that have a part
  std::vector<int32_t> sequence_labels;  ///< [S]: classes, or 0 IsNext, 1 NotNext
  std::vector<float> values;             ///< [S, labels] regression or multi-label; [S, H] vectors
  std::vector<float> teacher;  ///< a teacher's logits: [S, labels], [T, labels] or [T, 2]; or none
  bool teacher_of_tokens = false;
  std::vector<int32_t> starts, ends;  ///< [S]: first and last token of the answer in its sequence
  /// [texts] Of vectors that learn from each other: the sequence of each text of a record, where
  /// one stands for several; empty: each text has its own.
  std::vector<int32_t> texts;
  size_t head = 0;  ///< index of the learner's head that learns it

  void clear();
  size_t tokens() const { return batch.tokens(); }
  /// Tokens of sources and targets of sequences [first, last).
  size_t tokens(size_t first, size_t last) const {
    const auto count = [&](const PackedBatch& b) {
      return b.empty() ? 0 : b.cu_seq_lens[last] - b.cu_seq_lens[first];
    };
    return count(batch) + count(target);
  }
  size_t sequences() const { return batch.sequences(); }
};

/// Copies sequences [first, last) of `from` to `to`.
void slice(const TrainingBatch& from, size_t first, size_t last, TrainingBatch& to);

}  // namespace bert::training
