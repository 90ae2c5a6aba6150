#include "nn/bf16.h"

#include <algorithm>
#include <vector>

#include "ops/kernels/kernel_table.h"

namespace bert::nn {
namespace {

constexpr size_t kCachedBytes = 384 * 1024;  // bytes of a that stay in the second-level cache

constexpr size_t kRowsAtOnce = 32;  // rows whose cache lines stay in cache from panel to panel

/// Elements from row to row of a_: an odd number of cache lines, so that neighbouring rows do not
/// compete for one set of the cache.
size_t row_length(size_t k) { return (round_up(k, 32) / 32 | 1) * 32; }
size_t panels_of(size_t n) { return (n + kPanel - 1) / kPanel; }
size_t panel_bytes(size_t k) { return round_up(k, 2) * kPanel * sizeof(uint16_t); }

}  // namespace

bool Bf16Products::available() { return kernels().gemm_bf16 != nullptr; }

/// a_ = the rows of a.
void Bf16Products::round_rows(ConstMatrix a) {
  const size_t ld = row_length(a.cols);
  auto* out = reinterpret_cast<uint16_t*>(a_.reserve(a.rows * ld / 2));
  for (size_t t = 0; t < a.rows; ++t) kernels().to_bf16(a.row(t), a.cols, out + t * ld);
}

/// a_ = the columns of a as rows.
void Bf16Products::round_columns(ConstMatrix a) {
  const size_t ld = row_length(a.rows);
  auto* out = reinterpret_cast<uint16_t*>(a_.reserve(a.cols * ld / 2));
  for (size_t row = 0; row < a.rows; row += kRowsAtOnce) {
    const size_t count = std::min(kRowsAtOnce, a.rows - row);
    for (size_t col = 0; col < a.cols; col += kPanel) {
      kernels().bf16_transpose(a.row(row) + col, a.stride, count, std::min(kPanel, a.cols - col),
                               ld, out + col * ld + row);
    }
  }
}

/// b_ = panels of 16 rows of b.
void Bf16Products::pack_rows(ConstMatrix b) {
  const size_t size = panel_bytes(b.cols);
  auto* out = reinterpret_cast<std::byte*>(b_.reserve(panels_of(b.rows) * size / sizeof(float)));
  for (size_t p = 0; p < panels_of(b.rows); ++p) {
    kernels().bf16_rows(b.row(p * kPanel), b.stride, std::min(kPanel, b.rows - p * kPanel), b.cols,
                        out + p * size);
  }
}

/// b_ = panels of 16 columns of b.
void Bf16Products::pack_columns(ConstMatrix b) {
  const size_t size = panel_bytes(b.rows);
  auto* out = reinterpret_cast<std::byte*>(b_.reserve(panels_of(b.cols) * size / sizeof(float)));
  for (size_t row = 0; row < b.rows; row += kRowsAtOnce) {
    const size_t count = std::min(kRowsAtOnce, b.rows - row);
    for (size_t p = 0; p < panels_of(b.cols); ++p) {
      kernels().bf16_columns(b.row(row) + p * kPanel, b.stride, count,
                             std::min(kPanel, b.cols - p * kPanel),
                             out + p * size + panel_bytes(row));
    }
  }
}

/// c = a_ b_ (+ bias) (+ c), in blocks of rows that stay in cache while the panels stream past.
void Bf16Products::multiply(size_t rows, size_t k, const float* bias, Matrix c, bool add) {
  const size_t ld = row_length(k), panels = panels_of(c.cols), group = narrow_group(panel_bytes(k));
  const auto* a = reinterpret_cast<const uint16_t*>(a_.data());
  const auto* b = reinterpret_cast<const std::byte*>(b_.data());
  // The kernel reads the bias in whole panels.
  std::vector<float> biases;
  if (bias) {
    biases.assign(bias, bias + c.cols);
    biases.resize(panels * kPanel);
  }
  const size_t block = std::max<size_t>(32, kCachedBytes / (ld * sizeof(uint16_t)) / 32 * 32);
  for (size_t row = 0; row < rows; row += block) {
    for (size_t p = 0; p < panels; p += group) {
      GemmTask task;
      task.a = a + row * ld;
      task.lda = ld;
      task.b = b + p * panel_bytes(k);
      task.panel_stride = panel_bytes(k);
      task.step = kPanel;
      task.rows = std::min(block, rows - row);
      task.panels = std::min(group, panels - p);
      task.cols = std::min(task.panels * kPanel, c.cols - p * kPanel);
      task.k = k;
      task.c = c.row(row) + p * kPanel;
      task.ldc = c.stride;
      task.bias = bias ? biases.data() + p * kPanel : nullptr;
      task.residual = add ? task.c : nullptr;
      task.ldr = c.stride;
      kernels().gemm_bf16(task);
    }
  }
}

void Bf16Products::nt(ConstMatrix a, ConstMatrix b, const float* bias, Matrix c) {
  round_rows(a);
  pack_rows(b);
  multiply(a.rows, a.cols, bias, c, false);
}

void Bf16Products::nn(ConstMatrix a, ConstMatrix b, Matrix c, bool add) {
  round_rows(a);
  pack_columns(b);
  multiply(a.rows, a.cols, nullptr, c, add);
}

void Bf16Products::tn(ConstMatrix a, ConstMatrix b, Matrix c, bool add) {
  round_columns(a);
  pack_columns(b);
  multiply(a.cols, a.rows, nullptr, c, add);
}

}  // namespace bert::nn
