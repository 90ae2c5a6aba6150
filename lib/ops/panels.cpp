#include "ops/panels.h"

#include <algorithm>

#include "ops/dtype.h"
#include "ops/kernels/kernel_table.h"

namespace bert {

static_assert(kVectorsOfPanel == kPanel);

void pack_panel(ConstMatrix vectors, float* panel) {
  const std::byte* rows[kPanel] = {};
  for (size_t i = 0; i < vectors.rows; ++i) {
    rows[i] = reinterpret_cast<const std::byte*>(vectors.row(i));
  }
  kernels().pack_f32(rows, static_cast<int>(DType::f32), vectors.cols, panel);
}

void pack_panel(std::span<const std::byte* const> vectors, DType dtype, size_t width,
                float* panel) {
  const std::byte* rows[kPanel] = {};
  std::copy(vectors.begin(), vectors.end(), rows);
  kernels().pack_f32(rows, static_cast<int>(dtype), width, panel);
}

void multiply_panels(ConstMatrix x, const float* panels, size_t count, Matrix out, bool add) {
  GemmTask task;
  task.a = x.data;
  task.lda = x.stride;
  task.b = panels;
  task.panel_stride = x.cols * kPanel * sizeof(float);
  task.step = kPanel;
  task.rows = x.rows;
  task.panels = count;
  task.cols = count * kPanel;
  task.k = x.cols;
  task.c = out.data;
  task.ldc = out.stride;
  if (add) {
    task.residual = out.data;
    task.ldr = out.stride;
  }
  kernels().gemm_f32(task);
}

}  // namespace bert
