#pragma once

#include <cstddef>

#include "encoder/packed_batch.h"

namespace bert {

/// The row of the position table for each token of a batch, one after the other.
///
/// A family whose positions begin behind a padding token gives that token, where it stands in a
/// text, the row before the first, and does not count it (fairseq, make_positions).
class PositionRows {
 public:
  /// `first`: the row of a text's first token (Config::first_position). `batch` is borrowed.
  PositionRows(const PackedBatch& batch, size_t first) : batch_(batch), first_(first) {}

  /// Of token t; each token is asked for once, in order.
  size_t next(size_t t) {
    const auto position = static_cast<size_t>(batch_.position_ids[t]);
    if (first_ == 0) return position;
    if (position == 0) next_ = first_;
    const bool padding = static_cast<size_t>(batch_.input_ids[t]) + 1 == first_;
    return padding ? first_ - 1 : next_++;
  }

 private:
  const PackedBatch& batch_;
  const size_t first_;
  size_t next_ = 0;
};

}  // namespace bert
