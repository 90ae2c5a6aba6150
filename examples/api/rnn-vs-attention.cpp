// How the cost of a layer grows with the length of a sequence: RNN and LSTM take step after step,
// self-attention looks at all tokens at once. Prints TSV: tokens, and the microseconds of each, on
// one thread.
#include <bert/attention.h>
#include <bert/recurrent.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t kWidth = 128;

std::vector<float> numbers(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 0.2f * std::sin(static_cast<float>(i * i % 1009));
  return x;
}

template <typename Call>
double microseconds(Call call) {
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, 1e6 * spent.count());
  }
  return best;
}

double time_of(bert_cell cell, std::size_t gates, const bert::Matrix& x) {
  const std::vector<float> w = numbers(gates * kWidth * kWidth);
  const bert::Matrix weight(w.data(), gates * kWidth, kWidth);
  return microseconds([&] {
    bert::RecurrentState state;
    bert::recurrent(cell, x, {weight, weight}, state);
  });
}

}  // namespace

int main() {
  try {
    std::printf("tokens\trnn\tlstm\tattention\n");
    for (std::size_t n = 32; n <= 512; n *= 2) {
      const std::vector<float> values = numbers(n * kWidth);
      const bert::Matrix x(values.data(), n, kWidth);
      const double attention = microseconds([&] { bert::attention(x, x, x); });
      std::printf("%zu\t%.0f\t%.0f\t%.0f\n", n, time_of(BERT_RNN, 1, x), time_of(BERT_LSTM, 4, x),
                  attention);
    }
  } catch (const bert::Error& error) {
    return std::fprintf(stderr, "rnn-vs-attention: %s\n", error.what()), error.status();
  }
}
