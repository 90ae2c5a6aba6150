#pragma once

#include <cstddef>

#include "base/export.h"
#include "ops/matrix.h"

namespace bert {

/// A few rows x [Q, D] that are multiplied with many vectors in the int8 layout of linear.h, by
/// products of bytes on every CPU. For searches, which know how far rounding moves a score.
///
/// Thread rule: const after construction.
class Int8Rows {
 public:
  explicit Int8Rows(ConstMatrix x);

  size_t rows() const { return rows_; }
  /// How far rounding moves a row, in the Euclidean norm: the largest of the rows.
  double moved() const { return moved_; }
  /// How far sums of floats move a product at most, as a part of the lengths of the two rounded
  /// vectors.
  double error() const;
  /// out [Q, 16 * count] = x times the vectors of `count` panels, `stride` bytes from one to the
  /// next.
  void multiply(const std::byte* panels, size_t stride, size_t count, Matrix out) const;

 private:
  size_t rows_, width_;
  size_t lda_;  ///< values from row to row
  double moved_ = 0;
  Buffer scales_, values_;
};

}  // namespace bert
