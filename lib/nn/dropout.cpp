#include "nn/dropout.h"

#include "ops/gradient_kernels.h"

namespace bert::nn {

void dropout_row(const Dropout& dropout, uint64_t row, float* x, size_t n) {
  const auto dropped = static_cast<uint32_t>(static_cast<double>(dropout.rate) * 0x1p32);
  const auto scale = static_cast<float>(1 / (1 - static_cast<double>(dropped) * 0x1p-32));
  gradient_kernels().dropout(mix(dropout.key, row), dropped, scale, x, n);
}

void dropout(const Dropout& dropout, Matrix x) {
  if (!dropout.active()) return;
  for (size_t t = 0; t < x.rows; ++t) dropout_row(dropout, dropout.row_0 + t, x.row(t), x.cols);
}

}  // namespace bert::nn
