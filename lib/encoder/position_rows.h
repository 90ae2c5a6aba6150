#pragma once

#include <cstddef>
#include <cstdint>

#include "encoder/packed_batch.h"

namespace bert {

/// The row of the position table for each token of a batch, one after the other.
///
/// A family whose positions begin behind a padding token gives that token, where it stands in a
/// text, the row before the first, and does not count it (fairseq, make_positions).
class PositionRows {
 public:
  /// `first`: the row of a text's first token (Config::first_position); `padding`: the id that is
  /// not counted (Config::padding_without_place). `batch` is borrowed.
  PositionRows(const PackedBatch& batch, size_t first, int32_t padding)
      : batch_(batch), first_(first), padding_(padding) {}

  /// Of token t; each token is asked for once, in order.
  size_t next(size_t t) {
    const auto position = static_cast<size_t>(batch_.position_ids[t]);
    if (padding_ < 0) return first_ + position;
    if (position == 0) next_ = first_;
    return batch_.input_ids[t] == padding_ ? first_ - 1 : next_++;
  }

 private:
  const PackedBatch& batch_;
  const size_t first_;
  const int32_t padding_;
  size_t next_ = 0;
};

}  // namespace bert
