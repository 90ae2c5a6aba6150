#include "ops/kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/cpu.h"
#include "ops/dtype.h"
#include "ops/kernels/kernel_table.h"

namespace bert {
namespace {

// The files in kernels/ repeat these values, since they may not include the headers.
static_assert(int(DType::f64) == 0 && int(DType::f32) == 1 && int(DType::f16) == 2 &&
              int(DType::bf16) == 3);
static_assert(int(Activation::none) == 0 && int(Activation::gelu) == 1 &&
              int(Activation::gelu_tanh) == 2 && int(Activation::gelu_quick) == 3 &&
              int(Activation::relu) == 4 && int(Activation::silu) == 5 &&
              int(Activation::tanh) == 6 && int(Activation::sigmoid) == 7);

const KernelTable& choose() {
#if defined(__x86_64__)
  switch (cpu_isa()) {
    case Isa::amx:
      return kernels_amx();
    case Isa::avx512_bf16:
      return kernels_avx512_bf16();
    case Isa::avx512_vnni:
      return kernels_avx512_vnni();
    case Isa::avx512:
      return kernels_avx512();
    case Isa::avx2_vnni:
      return kernels_avx2_vnni();
    case Isa::avx2:
      return kernels_avx2();
    default:
      break;
  }
#elif defined(__aarch64__)
  switch (cpu_isa()) {
    case Isa::neon_bf16:
      return kernels_neon_bf16();
    case Isa::neon_i8mm:
      return kernels_neon_i8mm();
    case Isa::neon_dotprod:
      return kernels_neon_dotprod();
    case Isa::neon:
      return kernels_neon();
    default:
      break;
  }
#endif
  return kernels_plain();
}

/// kernels() for this file: a compiler does not inline what a library exports.
const KernelTable& chosen() {
  static const KernelTable& table = choose();
  return table;
}

}  // namespace

const KernelTable& kernels() { return chosen(); }

size_t narrow_group(size_t bytes) {
  const size_t most = chosen().narrow_bytes;
  return most == 0 ? 3 : std::max<size_t>(4, most / bytes / 4 * 4);
}

void layer_norm(ConstMatrix x, std::span<const float> weight, std::span<const float> bias,
                float eps, Matrix out) {
  const KernelTable& table = chosen();
  for (size_t t = 0; t < x.rows; ++t) {
    table.layer_norm(x.row(t), x.cols, weight.data(), bias.data(), eps, out.row(t));
  }
}

void rms_norm(ConstMatrix x, std::span<const float> weight, float eps, Matrix out) {
  const KernelTable& table = chosen();
  for (size_t t = 0; t < x.rows; ++t) {
    table.rms_norm(x.row(t), x.cols, weight.data(), eps, out.row(t));
  }
}

void add(ConstMatrix y, Matrix x) {
  const KernelTable& table = chosen();
  for (size_t t = 0; t < x.rows; ++t) table.add(y.row(t), x.cols, x.row(t));
}

void gate(Activation act, Matrix x) {
  const KernelTable& table = chosen();
  const size_t half = x.cols / 2;
  for (size_t t = 0; t < x.rows; ++t) {
    float* row = x.row(t);
    table.activate(static_cast<int>(act), row, half);
    table.multiply(row, row + half, half, row);
  }
}

void activate(Activation act, std::span<float> x) {
  chosen().activate(static_cast<int>(act), x.data(), x.size());
}

void softmax(std::span<float> x) { chosen().softmax(x.data(), x.size()); }

void maxima(std::span<const float> x, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t begin = i * kMaximaOf;
    out[i] = chosen().max(x.data() + begin, std::min(kMaximaOf, x.size() - begin));
  }
}

double exp_sum(std::span<const float> x, float top) {
  if (top == -std::numeric_limits<float>::infinity()) return 0;
  return double{chosen().exp_sum(x.data(), x.size(), top)};
}

double log_sum_exp(std::span<const float> x) {
  if (x.empty()) return -std::numeric_limits<double>::infinity();
  const float top = *std::max_element(x.begin(), x.end());
  if (std::isinf(top)) return top;
  // At the largest value of a piece, softmax gives 1 / sum(exp(x - largest)).
  float piece[1024];
  double sum = 0;
  for (size_t i = 0; i < x.size(); i += std::size(piece)) {
    const auto some = x.subspan(i, std::min(std::size(piece), x.size() - i));
    const auto best = std::max_element(some.begin(), some.end());
    std::copy(some.begin(), some.end(), piece);
    softmax({piece, some.size()});
    const double chance = piece[best - some.begin()];
    if (chance != 0) sum += std::exp(double{*best} - top) / chance;  // 0: all are -inf
  }
  return top + std::log(sum);
}

float dot(const float* a, const float* b, size_t n) { return chosen().dot(a, b, n); }

}  // namespace bert
