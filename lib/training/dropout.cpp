#include "training/dropout.h"

#include <algorithm>
#include <cmath>

namespace bert::training {

void dropout_row(const Dropout& dropout, uint64_t row, float* x, size_t n) {
  const uint64_t key = mix(dropout.key, row);
  const auto dropped = static_cast<uint32_t>(std::lround(dropout.rate * 65536.f));
  const float scale = 65536.f / static_cast<float>(65536u - dropped);
  for (size_t i = 0; i < n; i += 4) {
    uint64_t bits = mix(key, i / 4);
    for (size_t j = i; j < std::min(n, i + 4); ++j, bits >>= 16) {
      x[j] = (bits & 0xFFFF) < dropped ? 0.f : x[j] * scale;
    }
  }
}

void dropout(const Dropout& dropout, Matrix x) {
  if (!dropout.active()) return;
  for (size_t t = 0; t < x.rows; ++t) dropout_row(dropout, dropout.row_0 + t, x.row(t), x.cols);
}

}  // namespace bert::training
