// Each kernel beside its naive twin in double, on random shapes and on every instruction set this
// machine can run; and the promise that a row does not depend on its neighbours, to the bit.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/team.h"
#include "capture.h"
#include "ops/arithmetic.h"
#include "ops/attention_kernel.h"
#include "ops/blas.h"
#include "ops/kernels.h"
#include "ops/kernels/kernel_table.h"
#include "ops/linear.h"

namespace bert {
namespace {

using Floats = std::vector<float>;

struct Target {
  std::string name;
  const KernelTable* table;
};

std::vector<Target> targets() {
  std::vector<Target> all = {{"plain", &kernels_plain()}};
#if defined(__x86_64__)
  if (cpu_isa() >= Isa::avx2) all.push_back({"avx2", &kernels_avx2()});
  if (cpu_isa() == Isa::avx2_vnni || cpu_isa() >= Isa::avx512_vnni) {
    all.push_back({"avx2_vnni", &kernels_avx2_vnni()});
  }
  if (cpu_isa() >= Isa::avx512) all.push_back({"avx512", &kernels_avx512()});
  if (cpu_isa() >= Isa::avx512_vnni) all.push_back({"avx512_vnni", &kernels_avx512_vnni()});
  if (cpu_isa() >= Isa::avx512_bf16) all.push_back({"avx512_bf16", &kernels_avx512_bf16()});
  if (cpu_isa() >= Isa::amx) all.push_back({"amx", &kernels_amx()});
#elif defined(__aarch64__)
  if (cpu_isa() >= Isa::neon) all.push_back({"neon", &kernels_neon()});
  if (cpu_isa() >= Isa::neon_dotprod) all.push_back({"neon_dotprod", &kernels_neon_dotprod()});
  if (cpu_isa() >= Isa::neon_i8mm) all.push_back({"neon_i8mm", &kernels_neon_i8mm()});
  if (cpu_isa() >= Isa::neon_bf16) all.push_back({"neon_bf16", &kernels_neon_bf16()});
#endif
  return all;
}

struct Random {
  std::mt19937 engine{12345};
  float normal() { return std::normal_distribution<float>()(engine); }
  size_t between(size_t low, size_t high) {
    return std::uniform_int_distribution<size_t>(low, high)(engine);
  }
  Floats floats(size_t n, float scale = 1) {
    Floats out(n);
    for (float& x : out) x = scale * normal();
    return out;
  }
};

uint32_t bits(float x) {
  uint32_t out;
  std::memcpy(&out, &x, sizeof out);
  return out;
}

uint16_t bf16_bits(float x) {
  const uint32_t b = bits(x);
  return static_cast<uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

float bf16_value(uint16_t half) {
  const uint32_t b = uint32_t{half} << 16;
  float out;
  std::memcpy(&out, &b, sizeof out);
  return out;
}

double half_value(uint16_t half) {
  const double sign = half & 0x8000 ? -1 : 1;
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double naive_act(Activation act, double x) {
  switch (act) {
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::gelu_quick:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    default:
      return x;
  }
}

constexpr Activation kActivations[] = {
    Activation::none, Activation::gelu, Activation::gelu_tanh, Activation::gelu_quick,
    Activation::relu, Activation::silu, Activation::tanh,      Activation::sigmoid};

/// A weight matrix in a type of files, at an odd address, with its exact values.
struct StoredWeight {
  std::vector<std::byte> bytes;
  Floats values;
  WeightRef ref;

  StoredWeight(DType dtype, size_t out, size_t in, Random& random) : values(out * in) {
    const size_t size = dtype_size(dtype);
    bytes.resize(out * in * size + 1);
    for (size_t i = 0; i < values.size(); ++i) {
      float value = random.normal() / std::sqrt(static_cast<float>(in));
      std::byte* to = bytes.data() + 1 + i * size;
      if (dtype == DType::bf16) {
        const uint16_t half = bf16_bits(value);
        value = bf16_value(half);
        std::memcpy(to, &half, 2);
      } else if (dtype == DType::f16) {
        const uint16_t half = static_cast<uint16_t>(random.between(0, 0x3bff) | (i % 2 << 15));
        value = static_cast<float>(half_value(half));
        std::memcpy(to, &half, 2);
      } else if (dtype == DType::f64) {
        const double wide = value;
        std::memcpy(to, &wide, 8);
      } else {
        std::memcpy(to, &value, 4);
      }
      values[i] = value;
    }
    ref = {bytes.data() + 1, dtype, out, in};
  }
};

/// y = act(x W^T + b) + residual in double, and the size of the sums to measure errors by.
struct Naive {
  std::vector<double> y, size;

  Naive(const Floats& x, const Floats& w, const Floats& bias, Activation act,
        const Floats& residual, size_t rows, size_t out, size_t in)
      : y(rows * out), size(rows * out) {
    for (size_t t = 0; t < rows; ++t) {
      for (size_t n = 0; n < out; ++n) {
        double sum = bias.empty() ? 0 : bias[n];
        double magnitude = std::abs(sum);
        for (size_t k = 0; k < in; ++k) {
          const double product = double{x[t * in + k]} * w[n * in + k];
          sum += product;
          magnitude += std::abs(product);
        }
        y[t * out + n] = naive_act(act, sum) + (residual.empty() ? 0 : residual[t * out + n]);
        size[t * out + n] = magnitude + 1;
      }
    }
  }

  double worst(const Floats& got) const {
    double worst = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const double error = std::abs(got[i] - y[i]) / size[i];
      if (!(error <= worst)) worst = error;
    }
    return worst;
  }
};

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Floats apply(const Linear& linear, const Floats& x, Activation act, const Floats& residual = {},
             Team* team = nullptr) {
  const size_t rows = x.size() / linear.in_features();
  Floats y(rows * linear.out_features(), NAN);
  LinearScratch scratch;
  scratch.team = team;
  const ConstMatrix r =
      residual.empty() ? ConstMatrix() : ConstMatrix(residual.data(), rows, linear.out_features());
  linear(ConstMatrix(x.data(), rows, linear.in_features()),
         Matrix(y.data(), rows, linear.out_features()), act, scratch, r);
  return y;
}

TEST_CASE("Linear equals its naive twin in every type, shape and activation") {
  Random random;
  for (int round = 0; round < 60; ++round) {
    const DType dtype = std::vector{DType::f32, DType::f16, DType::bf16, DType::f64}[round % 4];
    const size_t in = random.between(1, round % 10 == 0 ? 1600 : 150);
    const size_t out = random.between(1, 150);
    const size_t rows = random.between(1, 40);
    const Activation act = kActivations[random.between(0, 7)];
    CAPTURE(in);
    CAPTURE(out);
    CAPTURE(rows);
    CAPTURE(int(act));
    const StoredWeight weight(dtype, out, in, random);
    const Floats bias = round % 3 ? random.floats(out) : Floats();
    const Floats x = random.floats(rows * in);
    const Floats residual = round % 2 ? random.floats(rows * out) : Floats();
    const Linear linear(weight.ref, bias);
    const Naive naive(x, weight.values, bias, act, residual, rows, out, in);
    CHECK(naive.worst(apply(linear, x, act, residual)) < 5e-7);
  }
}

TEST_CASE("Linear writes nothing outside its rows and columns, and may write over the residual") {
  Random random;
  const size_t in = 37, out = 21, rows = 5, stride = 30;
  const StoredWeight weight(DType::f32, out, in, random);
  const Linear linear(weight.ref, {});
  const Floats x = random.floats(rows * in);
  const Floats residual = random.floats(rows * out);
  const Floats wanted = apply(linear, x, Activation::gelu, residual);
  Floats y((rows + 2) * stride, 7.f);
  for (size_t t = 0; t < rows; ++t) {
    std::copy_n(residual.data() + t * out, out, y.data() + (t + 1) * stride);
  }
  const Matrix view(y.data() + stride, rows, out, stride);
  LinearScratch scratch;
  linear(ConstMatrix(x.data(), rows, in), view, Activation::gelu, scratch, view);
  for (size_t t = 0; t < rows + 2; ++t) {
    for (size_t n = 0; n < stride; ++n) {
      const bool inside = t >= 1 && t <= rows && n < out;
      CHECK(bits(y[t * stride + n]) == bits(inside ? wanted[(t - 1) * out + n] : 7.f));
    }
  }
}

TEST_CASE(
    "a row of Linear has the same bits alone, in company, by every thread count, before and after "
    "blocking") {
  Random random;
  Team two(2), three(3);
  for (Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    for (const auto& [in, out] : std::vector<std::pair<size_t, size_t>>{
             {384, 1152}, {37, 21}, {1536, 384}, {1, 1}, {770, 100}, {64, 30}, {385, 40}}) {
      CAPTURE_BINDING(in);
      CAPTURE_BINDING(out);
      const size_t rows = 45;
      const StoredWeight weight(DType::f32, out, in, random);
      const Floats bias = random.floats(out);
      const Floats x = random.floats(rows * in);
      const Floats whole = apply(Linear(weight.ref, bias, precision), x, Activation::gelu);
      const Linear linear(weight.ref, bias, precision);
      size_t met = 0;
      for (size_t count : {1, 2, 3, 4, 5, 7, 8, 9, 13, 45, 45, 45, 45, 1, 2, 8, 45}) {
        const size_t first = count == rows ? 0 : random.between(0, rows - count);
        Team* team = met % 3 == 0 ? nullptr : met % 3 == 1 ? &two : &three;
        ++met;
        const Floats part(x.begin() + first * in, x.begin() + (first + count) * in);
        const Floats y = apply(linear, part, Activation::gelu, {}, team);
        CAPTURE(first);
        CAPTURE(count);
        CHECK(same_bits(
            y, Floats(whole.begin() + first * out, whole.begin() + (first + count) * out)));
      }
    }
  }
}

TEST_CASE("threads may share a Linear while its blocks are being made") {
  Random random;
  for (Precision precision : {Precision::f32, Precision::int8}) {
    const size_t in = 300, out = 700, rows = 50;
    const StoredWeight weight(DType::f32, out, in, random);
    const Floats x = random.floats(rows * in);
    const Floats wanted = apply(Linear(weight.ref, {}, precision), x, Activation::none);
    const Linear linear(weight.ref, {}, precision);
    std::vector<Floats> got(4);
    std::vector<std::thread> threads;
    for (Floats& y : got) {
      threads.emplace_back([&] {
        for (int i = 0; i < 8; ++i) y = apply(linear, x, Activation::none);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Floats& y : got) CHECK(same_bits(y, wanted));
  }
}

TEST_CASE("matrices side by side are one Linear, whatever their types and sizes") {
  Random random;
  for (bool mixed : {false, true}) {
    const size_t in = 33, rows = 6;
    const StoredWeight q(DType::f32, 20, in, random);
    const StoredWeight k(mixed ? DType::bf16 : DType::f32, 7, in, random);
    const StoredWeight v(mixed ? DType::f16 : DType::f32, 40, in, random);
    const WeightRef parts[] = {q.ref, k.ref, v.ref};
    const Floats x = random.floats(rows * in);
    const Floats y = apply(Linear(parts, {}, Precision::f32), x, Activation::none);
    size_t column = 0;
    for (const StoredWeight* weight : {&q, &k, &v}) {
      const Floats alone = apply(Linear(weight->ref, {}), x, Activation::none);
      const size_t out = weight->ref.out;
      for (size_t t = 0; t < rows; ++t) {
        for (size_t n = 0; n < out; ++n) {
          const float wanted = alone[t * out + n];
          // BLAS may sum the columns of another shape in another order.
          if (uses_blas()) {
            CHECK(y[t * 67 + column + n] == doctest::Approx(wanted).epsilon(1e-5));
          } else {
            CHECK(bits(y[t * 67 + column + n]) == bits(wanted));
          }
        }
      }
      column += out;
    }
  }
}

TEST_CASE("weights blocked in a file compute the same bits as stored ones") {
  Random random;
  for (Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    if (precision == Precision::f32 && uses_blas()) continue;
    for (const auto& [in, out] : std::vector<std::pair<size_t, size_t>>{{37, 50}, {64, 128}}) {
      const StoredWeight a(DType::f32, out, in, random), b(DType::f32, 9, in, random);
      const WeightRef parts[] = {a.ref, b.ref};
      const size_t bytes = blocked_bytes(precision, out + 9, in);
      std::vector<std::byte> file(bytes + 128);
      const Floats x = random.floats(11 * in);
      const Floats wanted = apply(Linear(parts, {}, precision), x, Activation::gelu);
      for (size_t misaligned : {0, 1, 4}) {
        const auto address = reinterpret_cast<uintptr_t>(file.data());
        std::byte* data = file.data() + (64 - address % 64) + misaligned;
        std::vector<float> aligned(bytes / 4 + 1);
        block_weights(parts, precision, {}, reinterpret_cast<std::byte*>(aligned.data()));
        std::memcpy(data, aligned.data(), bytes);
        const Linear linear(BlockedRef{data, precision, out + 9, in}, {});
        for (int run = 0; run < 20; ++run) {
          REQUIRE(same_bits(apply(linear, x, Activation::gelu), wanted));
        }
      }
    }
  }
}

double round_to_bf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  return static_cast<double>(std::bit_cast<float>(bits));
}

/// The int8 contract, in groups of 64 along K: weights symmetric to their largest, activations from
/// their smallest to their largest with an exact zero, nearest-even, an exact sum for each group.
Floats naive_int8(const Floats& x, const Floats& w, size_t rows, size_t out, size_t in) {
  Floats y(rows * out);
  for (size_t t = 0; t < rows; ++t) {
    for (size_t n = 0; n < out; ++n) {
      for (size_t first = 0; first < in; first += 64) {
        const size_t last = std::min(in, first + 64);
        const float* a = x.data() + t * in;
        const float* b = w.data() + n * in;
        float low = 0, high = 0, largest = 0;
        for (size_t k = first; k < last; ++k) {
          low = std::min(low, a[k]);
          high = std::max(high, a[k]);
          largest = std::max(largest, std::abs(b[k]));
        }
        const float range = high - low;
        if (range == 0 || largest == 0) continue;
        const float to_a = 255.f / range, to_b = 127.f / largest;
        const int zero = static_cast<int>(std::nearbyint(-low * to_a));
        int sum = 0;
        for (size_t k = first; k < last; ++k) {
          const int q = std::clamp(static_cast<int>(std::nearbyint(a[k] * to_a)) + zero, 0, 255);
          sum += (q - zero) * static_cast<int>(std::nearbyint(b[k] * to_b));
        }
        const float product = static_cast<float>(sum) * (largest / 127.f) * (range / 255.f);
        y[t * out + n] += product;
      }
    }
  }
  return y;
}

/// What bf16 products take of an input: without instructions for them weights alone are rounded.
double bf16_input(float x) { return kernels().gemm_bf16 ? round_to_bf16(x) : double{x}; }

/// int8 weights by bf16 activations, as CPUs compute them whose tiles are faster at that.
std::vector<double> naive_widened(const Floats& x, const Floats& w, size_t rows, size_t out,
                                  size_t in) {
  std::vector<double> y(rows * out);
  for (size_t n = 0; n < out; ++n) {
    for (size_t first = 0; first < in; first += 64) {
      const float* b = w.data() + n * in;
      const size_t last = std::min(in, first + 64);
      float largest = 0;
      for (size_t k = first; k < last; ++k) largest = std::max(largest, std::abs(b[k]));
      for (size_t k = first; k < last && largest > 0; ++k) {
        const double value =
            round_to_bf16(std::nearbyint(b[k] * (127.f / largest)) * (largest / 127.f));
        for (size_t t = 0; t < rows; ++t) y[t * out + n] += round_to_bf16(x[t * in + k]) * value;
      }
    }
  }
  return y;
}

/// Whether products of int8 are what they should be on this CPU.
bool int8_is_right(const Floats& y, const Floats& x, const Floats& w, size_t rows, size_t out,
                   size_t in) {
  if (!kernels().int8_to_bf16) return same_bits(y, naive_int8(x, w, rows, out, in));
  const std::vector<double> wanted = naive_widened(x, w, rows, out, in);
  double size = 0;  // of the largest sum there can be
  for (const float v : x) size = std::max(size, std::abs(double{v}));
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::abs(double{y[i]} - wanted[i]) > 1e-5 * std::max(1., size * 10)) return false;
  }
  return true;
}

TEST_CASE("products of every length K, in bf16, int8 and split, with any number of rows") {
  Random random;
  for (size_t in = 1; in <= 130; ++in) {
    const size_t out = in % 3 == 0 ? 70 : 5;
    const StoredWeight weight(DType::f32, out, in, random);
    const Linear bf16(weight.ref, {}, Precision::bf16), int8(weight.ref, {}, Precision::int8),
        split(weight.ref, {}, Precision::split);
    for (size_t rows : {1, 16, 17, 32, 47}) {
      CAPTURE(in);
      CAPTURE(rows);
      const Floats x = random.floats(rows * in);
      CHECK(int8_is_right(apply(int8, x, Activation::none), x, weight.values, rows, out, in));
      const Floats y = apply(bf16, x, Activation::none), z = apply(split, x, Activation::none);
      double worst = 0, worst_split = 0;
      for (size_t t = 0; t < rows; ++t) {
        for (size_t n = 0; n < out; ++n) {
          double sum = 0, exact = 0;
          for (size_t k = 0; k < in; ++k) {
            exact +=
                static_cast<double>(x[t * in + k]) * static_cast<double>(weight.values[n * in + k]);
            sum += bf16_input(x[t * in + k]) * round_to_bf16(weight.values[n * in + k]);
          }
          worst = std::max(worst, std::abs(sum - static_cast<double>(y[t * out + n])));
          worst_split =
              std::max(worst_split, std::abs(exact - static_cast<double>(z[t * out + n])));
        }
      }
      CHECK(worst < 1e-5);
      CHECK(worst_split < 2e-6);
    }
  }
}

TEST_CASE("int8 products equal their naive twin, to the bit where bytes are multiplied") {
  Random random;
  for (int round = 0; round < 20; ++round) {
    const size_t in = random.between(1, 400), out = random.between(1, 100),
                 rows = random.between(1, 30);
    CAPTURE(in);
    CAPTURE(out);
    CAPTURE(rows);
    const StoredWeight weight(DType::f32, out, in, random);
    Floats x = random.floats(rows * in);
    if (round % 4 == 0) std::fill_n(x.begin(), in, 0.f);
    // The largest products of the largest sum: nothing may saturate.
    if (round % 4 == 1) std::fill(x.begin(), x.end(), -3.f);
    const Floats y = apply(Linear(weight.ref, {}, Precision::int8), x, Activation::none);
    CHECK(int8_is_right(y, x, weight.values, rows, out, in));
  }
}

/// One product by the kernels of one table.
Floats int8_by(const KernelTable& table, const Floats& x, const Floats& w, size_t rows, size_t out,
               size_t in) {
  const size_t panels = round_up(out, kPanel) / kPanel;
  const size_t bytes = blocked_bytes(Precision::int8, kPanel, in);
  std::vector<char> blocks(panels * bytes);
  for (size_t p = 0; p < panels; ++p) {
    const std::byte* weights[kPanel] = {};
    for (size_t n = 0; n < kPanel && p * kPanel + n < out; ++n) {
      weights[n] = reinterpret_cast<const std::byte*>(w.data() + (p * kPanel + n) * in);
    }
    Floats panel(in * kPanel);
    table.pack_f32(weights, int(DType::f32), in, panel.data());
    table.pack_int8(panel.data(), in, blocks.data() + p * bytes);
  }
  const size_t ld = round_up(in, 4);
  const size_t row_bytes = ld * table.int8_bytes;
  std::vector<int8_t> a(rows * row_bytes);
  const size_t groups = int8_groups(in);
  std::vector<Int8Scale> scales(rows * groups);
  Floats y(rows * out);
  for (size_t t = 0; t < rows; ++t) {
    table.to_int8(x.data() + t * in, in, a.data() + t * row_bytes, scales.data() + t * groups);
  }
  GemmTask task;
  task.a = a.data();
  task.lda = ld;
  task.a_scales = scales.data();
  task.b = blocks.data();
  task.panel_stride = bytes;
  task.rows = rows;
  task.panels = panels;
  task.cols = out;
  task.k = in;
  task.c = y.data();
  task.ldc = out;
  table.gemm_int8(task);
  return y;
}

TEST_CASE("factors of int8 multiply the inputs and divide the weights") {
  Random random;
  for (const auto& [in, out] :
       std::vector<std::pair<size_t, size_t>>{{5, 3}, {37, 50}, {192, 64}}) {
    CAPTURE_BINDING(in);
    const StoredWeight weight(DType::f32, out, in, random);
    const Floats x = random.floats(11 * in);
    Floats factors(in), scaled_x = x, scaled_w = weight.values;
    for (float& f : factors) f = std::exp(random.floats(1)[0]);
    for (size_t i = 0; i < scaled_x.size(); ++i) scaled_x[i] *= factors[i % in];
    for (size_t i = 0; i < scaled_w.size(); ++i) scaled_w[i] /= factors[i % in];
    const WeightRef whole{reinterpret_cast<const std::byte*>(scaled_w.data()), DType::f32, out, in};
    const Floats wanted = apply(Linear(whole, {}, Precision::int8), scaled_x, Activation::none);
    const Linear linear({&weight.ref, 1}, {}, Precision::int8, factors);
    CHECK(same_bits(apply(linear, x, Activation::none), wanted));

    std::vector<std::byte> file(blocked_bytes(Precision::int8, out, in, true));
    block_weights({&weight.ref, 1}, Precision::int8, factors, file.data());
    const BlockedRef blocked{file.data(), Precision::int8, out, in, true};
    CHECK(same_bits(apply(Linear(blocked, {}), x, Activation::none), wanted));
    Floats row(in);
    unblock_row(blocked, out - 1, row);
    double worst = 0;
    for (size_t k = 0; k < in; ++k) {
      const float back = row[k] / factors[k], want = scaled_w[(out - 1) * in + k];
      worst = std::max(worst, std::abs(double{back} - double{want}));
    }
    const double largest =
        *std::max_element(scaled_w.end() - in, scaled_w.end(),
                          [](float a, float b) { return std::abs(a) < std::abs(b); });
    CHECK(worst < std::abs(largest) / 250);
  }
}

TEST_CASE("int8 and float products on every target") {
  Random random;
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    const KernelTable& table = *target.table;
    for (int round = 0; round < 12; ++round) {
      const size_t in = random.between(1, 600), out = random.between(1, 90),
                   rows = random.between(1, 20);
      CAPTURE(in);
      CAPTURE(out);
      CAPTURE(rows);
      const Floats w = random.floats(out * in);
      const Floats x = random.floats(rows * in);
      CHECK(same_bits(int8_by(table, x, w, rows, out, in), naive_int8(x, w, rows, out, in)));

      const size_t panels = round_up(out, kPanel) / kPanel;
      Floats blocks(panels * in * kPanel), y(rows * out);
      for (size_t p = 0; p < panels; ++p) {
        const std::byte* weights[kPanel] = {};
        for (size_t n = 0; n < kPanel && p * kPanel + n < out; ++n) {
          weights[n] = reinterpret_cast<const std::byte*>(w.data() + (p * kPanel + n) * in);
        }
        table.pack_f32(weights, int(DType::f32), in, blocks.data() + p * in * kPanel);
      }
      GemmTask task;
      task.a = x.data();
      task.lda = in;
      task.b = blocks.data();
      task.panel_stride = in * kPanel * sizeof(float);
      task.step = kPanel;
      task.rows = rows;
      task.panels = panels;
      task.cols = out;
      task.k = in;
      task.c = y.data();
      task.ldc = out;
      task.activation = int(Activation::gelu);
      table.gemm_f32(task);
      const Naive naive(x, w, {}, Activation::gelu, {}, rows, out, in);
      CHECK(naive.worst(y) < 5e-7);
    }
  }
}

TEST_CASE("int8 keeps NaN and infinity visible") {
  Random random;
  const StoredWeight weight(DType::f32, 20, 100, random);
  const Linear linear(weight.ref, {}, Precision::int8);
  for (float fault : {NAN, INFINITY, -INFINITY}) {
    Floats x = random.floats(3 * 100);
    x[100 + 70] = fault;
    const Floats y = apply(linear, x, Activation::none);
    for (size_t i = 0; i < y.size(); ++i) CHECK(std::isfinite(y[i]) == (i / 20 != 1));
  }
}

TEST_CASE("few rows by panels of bf16 have the bits of many by the same panels as floats") {
  Random random;
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    const KernelTable& table = *target.table;
    for (size_t k : {1, 2, 7, 64, 192, 193, 385, 1024}) {
      CAPTURE(k);
      const size_t panels = 5, k2 = round_up(k, 2);
      std::vector<uint16_t> halfs(panels * k2 * kPanel);
      for (uint16_t& half : halfs) half = bf16_bits(random.normal());
      Floats floats(panels * k2 * kPanel);
      for (size_t p = 0; p < panels; ++p) {
        table.bf16_to_f32(halfs.data() + p * k2 * kPanel, k, floats.data() + p * k2 * kPanel);
        for (size_t i = 0; i < k * kPanel; ++i) {
          const size_t at = i / kPanel / 2 * 2 * kPanel + i % kPanel * 2 + i / kPanel % 2;
          REQUIRE(bits(floats[p * k2 * kPanel + i]) == uint32_t{halfs[p * k2 * kPanel + at]} << 16);
        }
      }
      for (size_t rows : {1, 2, 3, 4, 5, 8, 13, 31}) {
        CAPTURE(rows);
        const Floats x = random.floats(rows * k), bias = random.floats(panels * kPanel);
        Floats narrow(rows * panels * kPanel), wide = narrow;
        GemmTask task;
        task.a = x.data();
        task.lda = task.k = k;
        task.rows = rows;
        task.panels = panels;
        task.cols = task.ldc = panels * kPanel;
        task.bias = bias.data();
        task.step = kPanel;
        task.b = floats.data();
        task.panel_stride = k2 * kPanel * sizeof(float);
        task.c = wide.data();
        table.gemm_f32(task);
        task.b = halfs.data();
        task.panel_stride = k2 * kPanel * sizeof(uint16_t);
        task.c = narrow.data();
        table.gemm_bf16_as_f32(task);
        CHECK(same_bits(narrow, wide));
      }
    }
  }
}

TEST_CASE("bf16 products round their inputs only, and without instructions for them the weights") {
  Random random;
  for (int round = 0; round < 12; ++round) {
    const size_t in = random.between(1, 500), out = random.between(1, 90),
                 rows = random.between(1, 30);
    CAPTURE(in);
    CAPTURE(out);
    CAPTURE(rows);
    const StoredWeight weight(round % 2 ? DType::f32 : DType::bf16, out, in, random);
    const Floats x = random.floats(rows * in);
    Floats rounded_x = x, rounded_w = weight.values;
    for (float& value : rounded_x) value = static_cast<float>(bf16_input(value));
    for (float& value : rounded_w) value = bf16_value(bf16_bits(value));
    const Naive naive(rounded_x, rounded_w, {}, Activation::none, {}, rows, out, in);
    CHECK(naive.worst(apply(Linear(weight.ref, {}, Precision::bf16), x, Activation::none)) < 1e-6);
  }
}

TEST_CASE("activations are a few roundings from their twin, for all sizes of argument") {
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    for (Activation act : kActivations) {
      CAPTURE(int(act));
      Floats x;
      for (double size = 1e-12; size < 1e5; size *= 1.003) {
        x.push_back(static_cast<float>(size));
        x.push_back(static_cast<float>(-size));
      }
      x.insert(x.end(), {0.f, -0.f, 1e30f, -1e30f});
      Floats y = x;
      target.table->activate(int(act), y.data(), y.size());
      for (size_t i = 0; i < x.size(); ++i) {
        CAPTURE(x[i]);
        const double wanted = naive_act(act, x[i]);
        // Relative, except where 1 + erf cancels, as in every runtime.
        const double cancelled = 1.6e-7 * std::min(6.0, std::abs(double{x[i]}));
        const double tolerance = std::max(4e-7 * std::abs(wanted), cancelled);
        CHECK(std::abs(y[i] - wanted) <= tolerance);
      }
      float nan = NAN;
      target.table->activate(int(act), &nan, 1);
      CHECK(std::isnan(nan));
    }
  }
}

TEST_CASE(
    "the GELU of bf16 and int8 products is within 7e-5, exact in its tails, and they use it") {
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    Floats x;
    for (float v = -8.f; v < 8.f; v += 1e-3f) x.push_back(v);
    x.insert(x.end(), {0.f, -100.f, 100.f, -1e30f, 1e30f});
    Floats y = x;
    target.table->activate(kGeluNear, y.data(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      const double wanted = naive_act(Activation::gelu, x[i]);
      CHECK(std::abs(y[i] - wanted) <= (std::abs(x[i]) > 5 ? 1e-5 : 7e-5));
    }
    float nan = NAN;
    target.table->activate(kGeluNear, &nan, 1);
    CHECK(std::isnan(nan));
  }
  const Floats one = {1.f};
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    const Linear linear({reinterpret_cast<const std::byte*>(one.data()), DType::f32, 1, 1}, {},
                        precision);
    Floats y = {1.f};
    kernels().activate(kGeluNear, y.data(), 1);
    CHECK(same_bits(apply(linear, one, Activation::gelu), y));
  }
}

TEST_CASE("layer_norm equals its twin; constant rows and tiny eps are fine; rows do not matter") {
  Random random;
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    for (size_t n : {1, 2, 3, 15, 16, 17, 31, 32, 63, 64, 65, 128, 200, 384, 768, 1000, 1024}) {
      CAPTURE(n);
      const Floats w = random.floats(n), b = random.floats(n);
      for (int kind = 0; kind < 4; ++kind) {
        Floats x = random.floats(n, kind == 2 ? 1e-3f : 1.f);
        if (kind == 1) std::fill(x.begin(), x.end(), 0.3f);
        if (kind == 3) {
          for (float& value : x) value += 100;
        }
        const float eps = kind == 2 ? 1e-5f : 1e-12f;
        double mean = 0, variance = 0;
        for (float value : x) mean += value;
        mean /= static_cast<double>(n);
        for (float value : x) variance += (value - mean) * (value - mean);
        variance /= static_cast<double>(n);
        // Near 100 the mean is rounded to 8e-6 or so, and the row is then divided by its deviation.
        const double rounding = kind == 3 ? 1e-5 / std::sqrt(variance) : 0;
        Floats y(n + 1, 7.f);
        target.table->layer_norm(x.data(), n, w.data(), b.data(), eps, y.data());
        CHECK(y[n] == 7.f);
        for (size_t i = 0; i < n; ++i) {
          const double wanted = (x[i] - mean) / std::sqrt(variance + eps) * w[i] + b[i];
          // A constant row is rounding noise divided by sqrt(eps): it must be finite.
          if (kind == 1 || n == 1) {
            CHECK(std::isfinite(y[i]));
          } else {
            CHECK(std::abs(y[i] - wanted) < 4e-6 + rounding * std::abs(w[i]));
          }
        }
      }
    }
  }
}

TEST_CASE("rms_norm equals its twin, in place too") {
  Random random;
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    for (size_t n : {1, 2, 15, 16, 17, 63, 64, 65, 128, 200, 384, 1024}) {
      CAPTURE(n);
      const Floats w = random.floats(n);
      for (const float size : {1.f, 1e-4f, 300.f}) {
        const Floats x = random.floats(n, size);
        const float eps = 1e-6f;
        double squares = 0;
        for (float value : x) squares += static_cast<double>(value) * value;
        const double root = std::sqrt(squares / static_cast<double>(n) + eps);
        Floats y = x;
        y.push_back(7.f);
        target.table->rms_norm(y.data(), n, w.data(), eps, y.data());
        CHECK(y[n] == 7.f);
        for (size_t i = 0; i < n; ++i) CHECK(std::abs(y[i] - x[i] / root * w[i]) < 4e-6);
      }
    }
  }
}

TEST_CASE("softmax equals its twin, masks and faults included") {
  Random random;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    for (size_t n : {1, 2, 7, 16, 17, 33, 64, 65, 100, 512, 513}) {
      CAPTURE(n);
      for (int kind = 0; kind < 4; ++kind) {
        Floats x = random.floats(n, kind == 1 ? 5e3f : 4.f);
        if (kind == 2) {
          for (size_t i = 0; i < n; i += 3) x[i] = -kInf;
          x[n / 2] = 1;
        }
        if (kind == 3) {
          for (float& value : x) value -= 1e4f;
        }
        const double top = *std::max_element(x.begin(), x.end());
        double sum = 0;
        for (float value : x) sum += std::exp(value - top);
        Floats y = x;
        target.table->softmax(y.data(), n);
        for (size_t i = 0; i < n; ++i) CHECK(std::abs(y[i] - std::exp(x[i] - top) / sum) < 4e-7);
      }
      Floats masked(n, -kInf);
      target.table->softmax(masked.data(), n);
      for (float value : masked) CHECK(value == 0.f);
      Floats broken = random.floats(n);
      broken[n / 3] = NAN;
      target.table->softmax(broken.data(), n);
      for (float value : broken) CHECK(std::isnan(value));
    }
  }
}

TEST_CASE("log_sum_exp and dot equal their twins") {
  Random random;
  for (size_t n : {1, 5, 16, 40, 1000, 30522}) {
    const Floats a = random.floats(n, 3), b = random.floats(n);
    double sum = 0, product = 0, size = 0;
    for (float value : a) sum += std::exp(double{value});
    for (size_t i = 0; i < n; ++i) {
      product += double{a[i]} * b[i];
      size += std::abs(double{a[i]} * b[i]);
    }
    CHECK(log_sum_exp(a) == doctest::Approx(std::log(sum)).epsilon(1e-6));
    for (const Target& target : targets()) {
      CHECK(std::abs(target.table->dot(a.data(), b.data(), n) - product) < 3e-7 * size);
    }
  }
  const float low[] = {-INFINITY, -INFINITY};
  CHECK(log_sum_exp(low) == -INFINITY);
}

TEST_CASE("conversions to float are exact for every half and bfloat16") {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<std::byte> odd(halves.size() * 2 + 1);
  std::memcpy(odd.data() + 1, halves.data(), halves.size() * 2);
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    Floats f16(halves.size()), bf16(halves.size());
    target.table->to_float(int(DType::f16), odd.data() + 1, f16.size(), f16.data());
    target.table->to_float(int(DType::bf16), odd.data() + 1, bf16.size(), bf16.data());
    size_t wrong = 0;
    for (size_t i = 0; i < halves.size(); ++i) {
      const double wanted = half_value(halves[i]);
      if (std::isnan(wanted) ? !std::isnan(f16[i])
                             : f16[i] != wanted || std::signbit(f16[i]) != std::signbit(wanted)) {
        ++wrong;
      }
      wrong += bits(bf16[i]) != uint32_t{halves[i]} << 16;
    }
    CHECK(wrong == 0);
    const double wide[] = {1.5, -2.25, 1e-3};
    Floats narrow(3);
    target.table->to_float(int(DType::f64), reinterpret_cast<const std::byte*>(wide), 3,
                           narrow.data());
    CHECK(same_bits(narrow, {1.5f, -2.25f, 1e-3f}));
  }
}

TEST_CASE("attention equals its twin for any length and head size") {
  Random random;
  for (const Target& target : targets()) {
    CAPTURE(target.name);
    for (size_t d : {1, 7, 8, 16, 17, 32, 48, 64, 80, 128}) {
      for (size_t n : {1, 2, 15, 16, 17, 25, 33, 49, 100}) {
        CAPTURE(d);
        CAPTURE(n);
        const size_t stride = 3 * d + 5;
        const Floats qkv = random.floats(n * stride);
        const float scale = 1 / std::sqrt(static_cast<float>(d));
        const size_t out_stride = d + 3;
        Floats out(n * out_stride, 7.f), probabilities(n * n);
        Buffer scratch;
        AttentionTask task;
        task.q = qkv.data();
        task.k = qkv.data() + d;
        task.v = qkv.data() + 2 * d;
        task.q_stride = task.k_stride = task.v_stride = stride;
        task.out = out.data();
        task.out_stride = out_stride;
        task.n = n;
        task.d = d;
        task.scale = scale;
        task.scratch = scratch.reserve(attention_scratch(n, d));
        task.probabilities = probabilities.data();
        task.probabilities_stride = n;
        target.table->attention(task);
        Floats narrow(n * out_stride, 7.f);
        const bool has_narrow = target.table->attention_bf16 != nullptr;
        if (has_narrow) {
          task.out = narrow.data();
          task.scratch = scratch.reserve(attention_bf16_scratch(n, d));
          target.table->attention_bf16(task);
        }
        double worst = 0, worst_narrow = 0;
        for (size_t i = 0; i < n; ++i) {
          std::vector<double> p(n);
          double top = -1e300, sum = 0;
          for (size_t j = 0; j < n; ++j) {
            for (size_t e = 0; e < d; ++e) {
              p[j] += double{qkv[i * stride + e]} * qkv[j * stride + d + e] * scale;
            }
            top = std::max(top, p[j]);
          }
          for (double& value : p) sum += value = std::exp(value - top);
          for (size_t j = 0; j < n; ++j) {
            worst = std::max(worst, std::abs(probabilities[i * n + j] - p[j] / sum));
          }
          for (size_t e = 0; e < d; ++e) {
            double wanted = 0;
            for (size_t j = 0; j < n; ++j) wanted += p[j] / sum * qkv[j * stride + 2 * d + e];
            worst = std::max(worst, std::abs(out[i * out_stride + e] - wanted));
            worst_narrow = std::max(worst_narrow, std::abs(narrow[i * out_stride + e] - wanted));
          }
          for (size_t e = d; e < out_stride; ++e) CHECK(out[i * out_stride + e] == 7.f);
          for (size_t e = d; e < out_stride; ++e) CHECK(narrow[i * out_stride + e] == 7.f);
        }
        CHECK(worst < 5e-6);
        if (has_narrow) CHECK(worst_narrow < 0.03);
      }
    }
  }
}

TEST_CASE("attention over a batch is that of each head alone, to the bit, by every thread count") {
  Random random;
  const size_t heads = 3, d = 20, width = heads * d;
  const std::vector<size_t> cu_seq_lens = {0, 7, 8, 88, 105};
  const size_t tokens = cu_seq_lens.back();
  const Floats qkv = random.floats(tokens * 3 * width);
  Floats wanted(tokens * width);
  AttentionBuffers scratch;
  for (size_t s = 0; s + 1 < cu_seq_lens.size(); ++s) {
    const size_t begin = cu_seq_lens[s], n = cu_seq_lens[s + 1] - begin;
    for (size_t head = 0; head < heads; ++head) {
      Floats alone(n * 3 * d);  // the head's queries, keys and values
      for (size_t i = 0; i < 3 * n; ++i) {
        const float* from = qkv.data() + (begin + i / 3) * 3 * width + i % 3 * width + head * d;
        std::copy_n(from, d, alone.data() + i * d);
      }
      const size_t whole[] = {0, n};
      attention({.heads = 1, .scale = 0.2f}, ConstMatrix(alone.data(), n, 3 * d), whole,
                Matrix(wanted.data() + begin * width + head * d, n, d, width), scratch);
    }
  }
  Floats narrow;
  for (int threads : {1, 2, 5}) {
    Team team(threads);
    Floats out(tokens * width);
    AttentionBuffers parts;
    const auto run = [&](bool is_narrow) {
      attention({.heads = heads, .scale = 0.2f, .narrow = is_narrow},
                ConstMatrix(qkv.data(), tokens, 3 * width), cu_seq_lens,
                Matrix(out.data(), tokens, width), parts, threads == 1 ? nullptr : &team);
    };
    run(false);
    CHECK(same_bits(out, wanted));
    run(true);
    if (threads == 1) narrow = out;
    CHECK(same_bits(out, narrow));
  }
}

TEST_CASE("a team runs every part once, many times over") {
  for (int threads : {1, 2, 5}) {
    Team team(threads);
    CHECK(team.size() == threads);
    for (int round = 0; round < 2000; ++round) {
      std::vector<int> seen(threads, 0);
      team.run([&](int part, int parts) { seen[part] += parts; });
      for (int count : seen) REQUIRE(count == threads);
    }
  }
}

TEST_CASE("instruction sets and CPUs") {
  CHECK(allowed_cpus() >= 1);
  CHECK(isa_name(Isa::avx512_vnni) == "avx512_vnni");
  // The variable may only lower what the CPU has.
  const char* wanted = std::getenv("BERT_ISA");
  for (Isa isa : {Isa::plain, Isa::neon, Isa::neon_dotprod, Isa::neon_i8mm, Isa::avx2,
                  Isa::avx2_vnni, Isa::avx512}) {
    if (wanted && isa_name(isa) == wanted) CHECK(cpu_isa() <= isa);
  }
}

TEST_CASE("the best instruction set is that of the fastest arithmetic, by a table") {
  CpuFeatures cpu;
  CHECK(best_isa(cpu) == Isa::plain);
  cpu.avx2 = true;
  CHECK(best_isa(cpu) == Isa::avx2);
  cpu.avx512 = true;
  CHECK(best_isa(cpu) == Isa::avx512);
  CHECK(!can_run(Isa::avx2_vnni, cpu));
  cpu.avx2_vnni = cpu.avx512_vnni = true;
  CHECK(best_isa(cpu) == Isa::avx512_vnni);
  CHECK(!can_run(Isa::avx512_bf16, cpu));
  // VDPBF16PS is slower than float multiply-adds but on AMD; who names the set gets it.
  cpu.avx512_bf16 = true;
  CHECK(best_isa(cpu) == Isa::avx512_vnni);
  CHECK(can_run(Isa::avx512_bf16, cpu));
  cpu.amd = true;
  CHECK(best_isa(cpu) == Isa::avx512_bf16);
  cpu.amd = false;
  cpu.tiles = true;
  CHECK(best_isa(cpu) == Isa::amx);
}

TEST_CASE("the best instruction set of an ARM CPU, by the same table") {
  CpuFeatures cpu;
  cpu.neon = true;
  CHECK(best_isa(cpu) == Isa::neon);
  cpu.neon_dotprod = true;
  CHECK(best_isa(cpu) == Isa::neon_dotprod);
  CHECK(!can_run(Isa::neon_i8mm, cpu));
  cpu.neon_i8mm = true;
  CHECK(best_isa(cpu) == Isa::neon_i8mm);
  cpu.neon_bf16 = true;
  CHECK(best_isa(cpu) == Isa::neon_bf16);
  CHECK(isa_name(Isa::neon_bf16) == "neon_bf16");
}

TEST_CASE("the words for what products are computed in are those of the kernels") {
  const std::string set = kernel_set();
  CHECK(set.starts_with(isa_name(cpu_isa())));
  CHECK((set.find("+openblas-") != std::string::npos) == uses_blas());
  const bool bf16 = cpu_isa() == Isa::neon_bf16 || cpu_isa() >= Isa::avx512_bf16;
  CHECK((products_in(Precision::bf16) == "bf16") == bf16);
  CHECK(products_in(Precision::int8) == (cpu_isa() == Isa::amx ? "bf16" : "int8"));
  CHECK(products_in(Precision::split) == (cpu_isa() == Isa::amx ? "bf16x3"
                                          : uses_blas()         ? "openblas"
                                                                : "f32"));
}

// ctest runs this case alone with OPENBLAS_CORETYPE=Prescott: OpenBLAS has then chosen at its start
// the kernels that its old versions choose on new CPUs, and the variable is gone when we look.
TEST_CASE("OpenBLAS takes the right kernels whatever the environment says") {
  const char* forced = std::getenv("OPENBLAS_CORETYPE");
  REQUIRE(blas_state() != BlasState::missing);
  CAPTURE(blas_core());
  if (forced && std::string(forced) == "Prescott" && cpu_isa() >= Isa::avx2) {
    CHECK(blas_state() == BlasState::forced);
    CHECK(blas_core() != "Prescott");
    CHECK(std::string(std::getenv("OPENBLAS_CORETYPE")) == "Prescott");
  }
  Random random;
  const Floats a = random.floats(5 * 40), b = random.floats(7 * 40);
  Floats c(5 * 7);
  blas_gemm_nt(a.data(), 40, b.data(), 40, c.data(), 7, 5, 7, 40);
  CHECK(Naive(a, b, {}, Activation::none, {}, 5, 7, 40).worst(c) < 5e-7);
}

}  // namespace
}  // namespace bert
