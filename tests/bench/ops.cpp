// How close the kernels come to what this CPU can do at most. One thread; prints TSV:
//
//   KIND  SHAPE  ROWS  GFLOP/s  SHARE
//
// SHARE is of the peak measured first: a loop of independent multiply-adds in registers. That of
// split, floats computed as bf16, is the one of floats.
// Usage: bench_ops [FILTER]      FILTER: f32, split, bf16, int8, attention, rows

#include <fmt/format.h>
#include <time.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "ops/attention_kernel.h"
#include "ops/kernels.h"
#include "ops/linear.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace bert;

/// CPU seconds of this thread, so that others on the machine disturb little.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds of one call: the best of many runs of some milliseconds.
double best_time(const std::function<void()>& call) {
  call();
  int repeat = 1;
  double best = 1e9;
  for (int run = 0; run < 12;) {
    const double start = now();
    for (int i = 0; i < repeat; ++i) call();
    const double spent = now() - start;
    if (spent < 5e-3) {
      repeat *= 2;
      continue;
    }
    best = std::min(best, spent / repeat);
    ++run;
  }
  return best;
}

#if defined(__x86_64__)
constexpr int kChains = 20;
constexpr int kSteps = 2000;

// The empty assembly keeps each sum in a register and its value unknown.
#define SPIN(NAME, ISA, TYPE, CHAINS, STEP)                   \
  __attribute__((target(ISA))) float NAME() {                 \
    TYPE sum[CHAINS];                                         \
    _Pragma("GCC unroll 32") for (TYPE & s : sum) s = TYPE{}; \
    TYPE x{};                                                 \
    asm volatile("" : "+v"(x));                               \
    for (int i = 0; i < kSteps; ++i) {                        \
      _Pragma("GCC unroll 32") for (TYPE & s : sum) {         \
        s = STEP;                                             \
        asm volatile("" : "+v"(s));                           \
      }                                                       \
    }                                                         \
    float out;                                                \
    std::memcpy(&out, &sum[CHAINS - 1], sizeof out);          \
    return out;                                               \
  }
SPIN(spin_avx2, "avx2,fma", __m256, 12, _mm256_fmadd_ps(x, x, s))
SPIN(spin_avx512, "avx512f", __m512, kChains, _mm512_fmadd_ps(x, x, s))
SPIN(spin_bf16, "avx512f,avx512bf16", __m512, kChains,
     _mm512_dpbf16_ps(s, (__m512bh)x, (__m512bh)x))
SPIN(spin_vnni, "avx512f,avx512vnni", __m512i, kChains, _mm512_dpbusd_epi32(s, x, x))

/// Four tiles of sums, whatever they hold; INSTRUCTION adds to one of them.
#define SPIN_TILES(NAME, ISA, INSTRUCTION)                \
  __attribute__((target("amx-tile," ISA))) float NAME() { \
    struct alignas(64) {                                  \
      uint8_t head[16] = {1};                             \
      uint16_t bytes[16] = {64, 64, 64, 64, 64, 64};      \
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16};        \
    } config;                                             \
    asm volatile("" : : "r"(&config) : "memory");         \
    _tile_loadconfig(&config);                            \
    _tile_zero(4);                                        \
    _tile_zero(5);                                        \
    for (int i = 0; i < kSteps; ++i) {                    \
      INSTRUCTION(0, 4, 5);                               \
      INSTRUCTION(1, 4, 5);                               \
      INSTRUCTION(2, 4, 5);                               \
      INSTRUCTION(3, 4, 5);                               \
    }                                                     \
    _tile_release();                                      \
    return 0;                                             \
  }
SPIN_TILES(spin_bf16_tiles, "amx-bf16", _tile_dpbf16ps)
SPIN_TILES(spin_int8_tiles, "amx-int8", _tile_dpbusd)
constexpr double kTileOperations = 2. * 16 * 16 * 64;  // of int8, half as many of bf16
#endif

volatile double sink;

/// Operations per second of one core, two for a multiply-add.
double peak(Precision precision) {
#if defined(__x86_64__)
  const auto rate = [](auto spin, double flops) {
    return flops / best_time([spin] { sink = static_cast<double>(spin()); });
  };
  if (cpu_isa() == Isa::plain) return NAN;
  if (cpu_isa() <= Isa::avx2_vnni) {
    return precision == Precision::int8 ? NAN : rate(spin_avx2, 12. * kSteps * 16);
  }
  const bool floats = precision == Precision::f32 || precision == Precision::split;
  if (cpu_isa() == Isa::amx && !floats) {
    return precision == Precision::int8 ? rate(spin_int8_tiles, 4 * kSteps * kTileOperations)
                                        : rate(spin_bf16_tiles, 2 * kSteps * kTileOperations);
  }
  const double chains = double{kChains} * kSteps;
  if (precision == Precision::int8 && cpu_isa() >= Isa::avx512_vnni) {
    return rate(spin_vnni, chains * 128);
  }
  if (precision == Precision::bf16 && cpu_isa() == Isa::avx512_bf16)
    return rate(spin_bf16, chains * 64);
  return rate(spin_avx512, chains * 32);
#else
  return NAN;
#endif
}

std::vector<float> random_floats(size_t n) {
  static std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> out(n);
  for (float& x : out) x = normal(engine) * 0.05f;
  return out;
}

void row(const std::string& kind, const std::string& shape, size_t rows, double rate,
         double share) {
  fmt::print("{}\t{}\t{}\t{:.1f}\t{:.3f}\n", kind, shape, rows, rate / 1e9, share);
  std::fflush(stdout);
}

void bench_linear(Precision precision, const char* name) {
  const double most = peak(precision);
  row(name, "peak", 0, most, 1);
  struct Shape {
    size_t in, out;
    Activation act;
  };
  for (const Shape& shape :
       {Shape{384, 1152, Activation::none}, Shape{384, 384, Activation::none},
        Shape{384, 1536, Activation::gelu}, Shape{1536, 384, Activation::none},
        Shape{768, 2304, Activation::none}, Shape{768, 768, Activation::none},
        Shape{768, 3072, Activation::gelu}, Shape{3072, 768, Activation::none}}) {
    const std::vector<float> weight = random_floats(shape.in * shape.out);
    const Linear linear(
        {reinterpret_cast<const std::byte*>(weight.data()), DType::f32, shape.out, shape.in},
        random_floats(shape.out), precision);
    LinearScratch scratch;
    for (size_t rows : {1, 2, 4, 8, 12, 25, 64, 256, 512}) {
      const std::vector<float> x = random_floats(rows * shape.in);
      std::vector<float> y(rows * shape.out);
      const auto call = [&] {
        linear(ConstMatrix(x.data(), rows, shape.in), Matrix(y.data(), rows, shape.out), shape.act,
               scratch);
      };
      // The blocks are made after some rows have been seen.
      for (size_t seen = 0; seen < 256; seen += rows) call();
      const double seconds = best_time(call);
      const double flops = 2. * static_cast<double>(rows * shape.in * shape.out);
      row(name, fmt::format("{}x{}", shape.in, shape.out), rows, flops / seconds,
          flops / seconds / most);
    }
  }
}

/// The products of MiniLM (42 MB) for one line of 12 tokens: the first run, when nothing is
/// blocked, and the best of later ones.
void bench_first(Precision precision, const char* name) {
  struct Shape {
    size_t in, out;
  };
  std::vector<std::vector<float>> weights;
  std::vector<Linear> layers;
  for (int layer = 0; layer < 6; ++layer) {
    for (const Shape& shape :
         {Shape{384, 1152}, Shape{384, 384}, Shape{384, 1536}, Shape{1536, 384}}) {
      weights.push_back(random_floats(shape.in * shape.out));
    }
  }
  for (int layer = 0, i = 0; layer < 6; ++layer) {
    for (const Shape& shape :
         {Shape{384, 1152}, Shape{384, 384}, Shape{384, 1536}, Shape{1536, 384}}) {
      layers.emplace_back(WeightRef{reinterpret_cast<const std::byte*>(weights[i++].data()),
                                    DType::f32, shape.out, shape.in},
                          std::vector<float>(shape.out), precision);
    }
  }
  LinearScratch scratch;
  const std::vector<float> x(12 * 1536, 0.1f);
  std::vector<float> y(12 * 1536);
  const auto pass = [&](size_t rows) {
    for (const Linear& linear : layers) {
      linear(ConstMatrix(x.data(), rows, linear.in_features()),
             Matrix(y.data(), rows, linear.out_features()), Activation::none, scratch);
    }
  };
  for (int i = 0; i < 60; ++i) {
    const double begin = now();
    pass(12);
    if (i < 3 || i > 56) {
      fmt::print("first\t{}\t{}\t{:.3f} ms\n", name, i, (now() - begin) * 1e3);
    }
  }
}

void bench_attention() {
  const double most = peak(Precision::f32);
  for (size_t d : {32, 64}) {
    const size_t hidden = d == 32 ? 384 : 768;
    for (size_t n : {8, 12, 25, 64, 150, 512}) {
      const std::vector<float> qkv = random_floats(n * 3 * hidden);
      std::vector<float> out(n * hidden);
      AttentionBuffers scratch;
      const size_t whole[] = {0, n};
      const double seconds = best_time([&] {
        attention({.heads = 12, .scale = 0.176f}, ConstMatrix(qkv.data(), n, 3 * hidden), whole,
                  Matrix(out.data(), n, hidden), scratch);
      });
      const double flops = 4. * static_cast<double>(n * n * hidden);
      row("attention", fmt::format("12x{}", d), n, flops / seconds, flops / seconds / most);
    }
  }
}

void bench_rows() {
  const auto each = [](const char* name, size_t size, const std::function<void()>& call) {
    fmt::print("rows\t{}\t{}\t{:.2f} ns/element\n", name, size,
               best_time(call) * 1e9 / static_cast<double>(size));
  };
  for (size_t h : {384, 768, 1536}) {
    const std::vector<float> w = random_floats(h), b = random_floats(h);
    std::vector<float> x = random_floats(h * 32), y(h * 32);
    each("layer_norm", h * 32,
         [&] { layer_norm(ConstMatrix(x.data(), 32, h), w, b, 1e-12f, Matrix(y.data(), 32, h)); });
    for (const auto& [name, act] :
         {std::pair{"gelu", Activation::gelu}, std::pair{"gelu_tanh", Activation::gelu_tanh},
          std::pair{"tanh", Activation::tanh}}) {
      each(name, h * 32, [&, act = act] { activate(act, x); });
    }
    each("softmax", h, [&] { softmax(std::span(x).first(h)); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string filter = argc > 1 ? argv[1] : "";
  const auto wanted = [&](const char* name) { return filter.empty() || filter == name; };
  fmt::print("# {}\nKIND\tSHAPE\tROWS\tGFLOP/s\tSHARE\n", isa_name(cpu_isa()));
  if (wanted("f32")) bench_linear(Precision::f32, "f32");
  if (wanted("split")) bench_linear(Precision::split, "split");
  if (wanted("bf16")) bench_linear(Precision::bf16, "bf16");
  if (wanted("int8")) bench_linear(Precision::int8, "int8");
  if (wanted("first")) {
    bench_first(Precision::f32, "f32");
    bench_first(Precision::split, "split");
    bench_first(Precision::bf16, "bf16");
    bench_first(Precision::int8, "int8");
  }
  if (wanted("attention")) bench_attention();
  if (wanted("rows")) bench_rows();
}
