// How the cost of a layer grows with the length of one sequence: recurrent nets go through it step
// by step, and each step waits for the one before; self-attention reads all tokens at once, but
// each token looks at all others. Prints TSV: net, threads, tokens, milliseconds, tokens a second.
//
// All layers have the same width, and the same kernels compute their products.
// Usage: bench_recurrence [WIDTH]      default 256

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "base/team.h"
#include "nn/recurrent.h"
#include "ops/attention_kernel.h"
#include "ops/linear.h"

namespace {

using namespace bert;

/// Seconds of one call: the best of many runs of about a millisecond, so that others on the machine
/// disturb little.
double time_of(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRuns = 300;
  call();
  double best = 1e9;
  for (int run = 0, repeat = 1; run < kRuns;) {
    const auto start = Clock::now();
    for (int i = 0; i < repeat; ++i) call();
    const double spent = std::chrono::duration<double>(Clock::now() - start).count();
    if (spent < 1e-3 && repeat < 64) {
      repeat *= 2;
      continue;
    }
    best = std::min(best, spent / repeat);
    ++run;
  }
  return best;
}

class Weights {
 public:
  Weights(size_t out, size_t in) : values_(out * in), out_(out), in_(in) {
    std::minstd_rand random(static_cast<unsigned>(out));
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(in)));
    for (float& v : values_) v = normal(random);
  }
  Linear linear() const {
    return {{reinterpret_cast<const std::byte*>(values_.data()), DType::f32, out_, in_},
            std::vector<float>(out_)};
  }

 private:
  std::vector<float> values_;
  size_t out_, in_;
};

void print(const char* net, int threads, size_t tokens, double seconds) {
  fmt::print("{}\t{}\t{}\t{:.4f}\t{:.0f}\n", net, threads, tokens, 1e3 * seconds,
             static_cast<double>(tokens) / seconds);
}

void time_recurrent(const char* net, Cell cell, ConstMatrix x, Team& team) {
  const size_t width = x.cols, cu[] = {0, x.rows};
  const Weights input(gates_of(cell) * width, width), hidden(gates_of(cell) * width, width);
  const nn::CellLinears linears{input.linear(), hidden.linear()};
  LinearScratch scratch;
  scratch.team = &team;
  const nn::CellProducts products = linears.products(scratch);
  nn::RecurrentWalk walk;
  Buffer out;
  const Matrix y = out.matrix(x.rows, width);
  print(net, team.size(), x.rows,
        time_of([&] { walk.forward(cell, products, cu, false, x, {}, y, {}); }));
}

void time_attention(ConstMatrix x, Team& team) {
  const size_t width = x.cols, heads = width / 64, cu[] = {0, x.rows};
  const Weights qkv(3 * width, width), output(width, width);
  const Linear to_qkv = qkv.linear(), to_output = output.linear();
  LinearScratch scratch;
  scratch.team = &team;
  Buffer all, context, out;
  AttentionBuffers buffers;
  AttentionForm form;
  form.heads = heads;
  form.scale = 1 / std::sqrt(static_cast<float>(width / heads));
  print("attention", team.size(), x.rows, time_of([&] {
          const Matrix projected = all.matrix(x.rows, 3 * width);
          const Matrix mixed = context.matrix(x.rows, width);
          to_qkv(x, projected, Activation::none, scratch);
          attention(form, projected, cu, mixed, buffers, &team);
          to_output(mixed, out.matrix(x.rows, width), Activation::none, scratch);
        }));
}

}  // namespace

int main(int argc, char** argv) {
  const size_t width = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
  if (width == 0 || width % 64 != 0) {
    fmt::print(stderr, "usage: bench_recurrence [WIDTH]   (a multiple of 64)\n");
    return 64;
  }
  fmt::print("net\tthreads\ttokens\tmilliseconds\ttokens_per_second\n");
  std::minstd_rand random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(512 * width);
  for (float& v : values) v = normal(random);
  for (const int threads : {1, 2}) {
    Team team(threads);
    for (size_t tokens = 32; tokens <= 512; tokens *= 2) {
      const ConstMatrix x(values.data(), tokens, width);
      time_recurrent("rnn", Cell::rnn, x, team);
      time_recurrent("lstm", Cell::lstm, x, team);
      time_attention(x, team);
    }
  }
}
