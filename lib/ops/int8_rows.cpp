#include "ops/int8_rows.h"

#include <algorithm>

#include "ops/int8_error.h"
#include "ops/kernels/kernel_table.h"

namespace bert {

Int8Rows::Int8Rows(ConstMatrix x)
    : rows_(x.rows), width_(x.cols), lda_(round_up(x.cols, kInt8Group)) {
  const KernelTable& table = kernels();
  const size_t groups = int8_groups(width_), row_bytes = lda_ * table.int8_bytes;
  auto* scales = reinterpret_cast<Int8Scale*>(
      scales_.reserve(rows_ * groups * sizeof(Int8Scale) / sizeof(float)));
  auto* values = reinterpret_cast<std::byte*>(values_.reserve(rows_ * row_bytes / sizeof(float)));
  Buffer scratch;
  for (size_t r = 0; r < rows_; ++r) {
    table.to_int8(x.row(r), width_, values + r * row_bytes, scales + r * groups);
    moved_ = std::max(moved_, int8_input_error({x.row(r), width_}, scratch));
  }
}

/// The sum of a group is exact. Two scales and the sum over the groups round it.
double Int8Rows::error() const { return static_cast<double>(int8_groups(width_) + 4) * 0x1p-24; }

void Int8Rows::multiply(const std::byte* panels, size_t stride, size_t count, Matrix out) const {
  GemmTask task;
  task.a = values_.data();
  task.lda = lda_;
  task.a_scales = reinterpret_cast<const Int8Scale*>(scales_.data());
  task.b = panels;
  task.panel_stride = stride;
  task.rows = rows_;
  task.panels = count;
  task.cols = count * kPanel;
  task.k = width_;
  task.c = out.data;
  task.ldc = out.stride;
  kernels().gemm_int8(task);
}

}  // namespace bert
