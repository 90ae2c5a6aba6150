#include "ops/int8_error.h"

#include <algorithm>
#include <cmath>

#include "ops/blas.h"
#include "ops/kernels/kernel_table.h"

namespace bert {

double int8_input_error(std::span<const float> x, Buffer& scratch) {
  const size_t groups = int8_groups(x.size());
  const size_t scale_floats = groups * sizeof(Int8Scale) / sizeof(float);
  float* floats = scratch.reserve(scale_floats + x.size() + kInt8Group);
  auto* scales = reinterpret_cast<Int8Scale*>(floats);
  kernels().to_int8(x.data(), x.size(), floats + scale_floats, scales);
  double sum = 0;
  for (size_t g = 0; g < groups; ++g) {
    const double step = double{scales[g].scale};  // the nearest step is at most half of it away
    sum += static_cast<double>(std::min(kInt8Group, x.size() - g * kInt8Group)) * step * step / 4;
  }
  return std::sqrt(sum);
}

bool has_fast_int8() {
  return !uses_blas() && !kernels().int8_to_bf16 && kernels().int8_bytes < sizeof(float);
}

}  // namespace bert
