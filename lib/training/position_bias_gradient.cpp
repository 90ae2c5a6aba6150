#include "training/position_bias_gradient.h"

#include <algorithm>

#include "encoder/position_bias.h"

namespace bert::training {
namespace {

/// The row of the table for column `column` of rows that have `columns`.
size_t bucket_of(size_t column, size_t columns) {
  return DistanceBuckets().of(static_cast<ptrdiff_t>(column) - static_cast<ptrdiff_t>(columns / 2));
}

}  // namespace

void PositionBias::spread(ConstMatrix table, const PackedBatch& batch, float scale) {
  rows_ = d_rows_ = {};
  if (!table.data) return;
  scale_ = scale;
  size_t longest = 1;
  for (size_t s = 0; s < batch.sequences(); ++s) longest = std::max(longest, batch.length(s));
  const size_t heads = table.cols, columns = 2 * longest - 1;
  rows_ = values_.matrix(heads, columns);
  d_rows_ = gradients_.matrix(heads, columns);
  std::fill_n(d_rows_.data, heads * columns, 0.f);
  for (size_t i = 0; i < columns; ++i) {
    const float* from = table.row(bucket_of(i, columns));
    // The model adds its bias after the scale, attention before it.
    for (size_t h = 0; h < heads; ++h) rows_.row(h)[i] = from[h] / scale;
  }
}

void PositionBias::gather(Matrix d_table) const {
  for (size_t i = 0; i < d_rows_.cols; ++i) {
    float* to = d_table.row(bucket_of(i, d_rows_.cols));
    for (size_t h = 0; h < d_rows_.rows; ++h) to[h] += d_rows_.row(h)[i] / scale_;
  }
}

}  // namespace bert::training
