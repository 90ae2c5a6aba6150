#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "encoder/attention.h"

namespace bert {
namespace {

/// A layer's projections with weights of its own, and the batch it runs on.
struct Trial {
  size_t width, heads;
  std::vector<float> weights, bias, hidden;
  PackedBatch batch;

  Trial(size_t head_size, size_t heads_, std::vector<size_t> lengths, float std, unsigned seed)
      : width(head_size * heads_), heads(heads_) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (const size_t n : lengths) {
      const std::vector<int32_t> zeros(n, 0);
      batch.append(zeros, zeros);
    }
    weights.resize(3 * width * width);
    bias.resize(3 * width);
    hidden.resize(batch.tokens() * width);
    for (float& w : weights) w = std * normal(random);
    for (float& b : bias) b = std * normal(random);
    for (float& h : hidden) h = normal(random);
  }
  AttentionWeights load() const {
    const WeightRef matrix{reinterpret_cast<const std::byte*>(weights.data()), DType::f32,
                           3 * width, width};
    AttentionWeights w;
    w.qkv = Linear(matrix, bias);
    w.head_size = width / heads;
    w.form.heads = heads;
    w.form.scale = 1.0f / std::sqrt(static_cast<float>(width / heads));
    return w;
  }
  ConstMatrix input() const { return {hidden.data(), batch.tokens(), width}; }

  std::vector<float> run(const Trace* trace = nullptr) const {
    AttentionScratch scratch;
    LinearScratch linear;
    std::vector<float> context(hidden.size());
    self_attention(load(), batch, input(), Matrix(context.data(), batch.tokens(), width), scratch,
                   linear, {.trace = LayerTrace(trace, 1)});
    return context;
  }
};

/// What = 0, 1, 2: query, key, value of token t, element i.
double project(const Trial& trial, size_t what, size_t t, size_t i) {
  const size_t row = what * trial.width + i;
  double sum = trial.bias[row];
  for (size_t k = 0; k < trial.width; ++k) {
    sum += static_cast<double>(trial.weights[row * trial.width + k]) *
           trial.hidden[t * trial.width + k];
  }
  return sum;
}

/// Vaswani et al. 2017, eq. 1, term by term in double. Returns the context [T, H].
std::vector<double> naive_attention(const Trial& trial) {
  const size_t tokens = trial.batch.tokens(), width = trial.width, size = width / trial.heads;
  std::vector<double> q(tokens * width), k(q), v(q), context(q);
  for (size_t t = 0; t < tokens; ++t) {
    for (size_t i = 0; i < width; ++i) {
      q[t * width + i] = project(trial, 0, t, i);
      k[t * width + i] = project(trial, 1, t, i);
      v[t * width + i] = project(trial, 2, t, i);
    }
  }
  for (size_t s = 0; s < trial.batch.sequences(); ++s) {
    const size_t begin = trial.batch.begin(s), end = begin + trial.batch.length(s);
    for (size_t head = 0; head < trial.heads; ++head) {
      for (size_t t = begin; t < end; ++t) {
        std::vector<double> scores;
        double total = 0;
        for (size_t u = begin; u < end; ++u) {
          double score = 0;
          for (size_t i = head * size; i < (head + 1) * size; ++i)
            score += q[t * width + i] * k[u * width + i];
          scores.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
          total += scores.back();
        }
        for (size_t u = begin; u < end; ++u) {
          for (size_t i = head * size; i < (head + 1) * size; ++i) {
            context[t * width + i] += scores[u - begin] / total * v[u * width + i];
          }
        }
      }
    }
  }
  return context;
}

}  // namespace

TEST_CASE(
    "self-attention equals its definition for head sizes and lengths around every vector width") {
  unsigned seed = 1;
  for (const size_t head_size : {1, 3, 8, 16, 17, 32, 33, 64}) {
    for (const size_t heads : {1, 3}) {
      CAPTURE(head_size);
      CAPTURE(heads);
      const float std = 1.0f / std::sqrt(static_cast<float>(head_size * heads));
      const Trial trial(head_size, heads, {1, 2, 15, 16, 17, 33, 65}, std, seed++);
      const std::vector<float> context = trial.run();
      const std::vector<double> expected = naive_attention(trial);
      double error = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        error = std::max(error, std::abs(context[i] - expected[i]));
      CHECK(error < 1e-5);
    }
  }
}

TEST_CASE("a long sequence equals the definition") {
  const Trial trial(8, 2, {300, 513}, 0.5f, 99);
  const std::vector<float> context = trial.run();
  const std::vector<double> expected = naive_attention(trial);
  double error = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    error = std::max(error, std::abs(context[i] - expected[i]));
  CHECK(error < 2e-5);
}

TEST_CASE("a token attends to its own sequence only") {
  Trial trial(16, 2, {5, 9, 3}, 0.3f, 7);
  const std::vector<float> before = trial.run();
  for (size_t t = 5; t < 14; ++t) trial.hidden[t * trial.width] += 100.0f;
  const std::vector<float> after = trial.run();
  const size_t first = 5 * trial.width, second = 14 * trial.width;
  CHECK(std::memcmp(before.data(), after.data(), first * sizeof(float)) == 0);
  CHECK(std::memcmp(&before[second], &after[second], 3 * trial.width * sizeof(float)) == 0);
  CHECK(std::memcmp(&before[first], &after[first], 9 * trial.width * sizeof(float)) != 0);
}

TEST_CASE("scores far apart give finite probabilities") {
  const Trial trial(16, 1, {4, 20}, 30.0f, 3);
  for (const float value : trial.run()) CHECK(std::isfinite(value));
}

TEST_CASE("a trace sees each head's probabilities and changes nothing") {
  const Trial trial(16, 3, {1, 4, 18}, 0.3f, 5);
  size_t calls = 0;
  Trace trace;
  trace.request = Traced::probabilities;
  trace.show = [&](const TraceView& view) {
    const ConstMatrix probabilities = view.values;
    CHECK(view.layer == 1);
    CHECK(view.head < 3);
    CHECK(probabilities.rows == trial.batch.length(view.sequence));
    CHECK(probabilities.cols == probabilities.rows);
    for (size_t i = 0; i < probabilities.rows; ++i) {
      double sum = 0;
      for (size_t j = 0; j < probabilities.cols; ++j) sum += probabilities.row(i)[j];
      CHECK(sum == doctest::Approx(1.0).epsilon(1e-6));
    }
    ++calls;
  };
  const std::vector<float> observed = trial.run(&trace), plain = trial.run();
  CHECK(calls == 9);
  CHECK(std::memcmp(observed.data(), plain.data(), plain.size() * sizeof(float)) == 0);
}

}  // namespace bert
