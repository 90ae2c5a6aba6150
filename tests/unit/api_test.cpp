// bert_attention beside its naive twin in double. The rest of bert.h is tested from C, as it is
// installed: tests/install/faults.c; its numbers: tests/api.

#include <bert/bert.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace bert {
namespace {

struct Shapes {
  size_t n, m, D, Dv, heads;
  bool masked;
};

struct Twin {
  std::vector<double> out, weights;  ///< [n, Dv], [heads, n, m]
};

/// softmax(Q K^T / sqrt(D / heads) + mask) V, head by head.
Twin naive(const Shapes& s, const std::vector<float>& q, const std::vector<float>& k,
           const std::vector<float>& v, const std::vector<float>& mask) {
  Twin twin{std::vector<double>(s.n * s.Dv), std::vector<double>(s.heads * s.n * s.m)};
  const size_t d = s.D / s.heads, dv = s.Dv / s.heads;
  for (size_t head = 0; head < s.heads; ++head) {
    for (size_t i = 0; i < s.n; ++i) {
      double* row = &twin.weights[(head * s.n + i) * s.m];
      double sum = 0;
      for (size_t j = 0; j < s.m; ++j) {
        double score = 0;
        for (size_t c = head * d; c < (head + 1) * d; ++c) {
          score += double{q[i * s.D + c]} * double{k[j * s.D + c]};
        }
        row[j] = std::exp(score / std::sqrt(static_cast<double>(d)) +
                          (s.masked ? double{mask[i * s.m + j]} : 0.0));
        sum += row[j];
      }
      for (size_t j = 0; j < s.m; ++j) {
        row[j] = sum > 0 ? row[j] / sum : 0;
        for (size_t c = head * dv; c < (head + 1) * dv; ++c) {
          twin.out[i * s.Dv + c] += row[j] * double{v[j * s.Dv + c]};
        }
      }
    }
  }
  return twin;
}

double largest_difference(const std::vector<float>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("bert_attention equals its twin for any shapes, heads and mask") {
  std::mt19937 engine{7};
  std::normal_distribution<float> normal;
  const auto floats = [&](size_t n) {
    std::vector<float> x(n);
    for (float& value : x) value = normal(engine);
    return x;
  };
  for (const Shapes& s :
       {Shapes{1, 1, 1, 1, 1, false}, Shapes{3, 5, 4, 6, 2, false}, Shapes{17, 9, 33, 11, 11, true},
        Shapes{40, 70, 64, 32, 4, true}, Shapes{2, 300, 16, 1, 1, true}}) {
    const std::vector<float> q = floats(s.n * s.D), k = floats(s.m * s.D), v = floats(s.m * s.Dv);
    std::vector<float> mask = floats(s.n * s.m);
    for (size_t i = 0; i < mask.size(); i += 3) mask[i] = -INFINITY;
    std::fill_n(mask.begin(), s.m, -INFINITY);  // the first query sees nothing
    bert_attention_options options{};
    options.size = sizeof options;
    options.heads = s.heads;
    options.mask = s.masked ? mask.data() : nullptr;
    std::vector<float> out(s.n * s.Dv), alone(s.n * s.Dv), weights(s.heads * s.n * s.m);
    const bert_matrix queries{q.data(), s.n, s.D}, keys{k.data(), s.m, s.D};
    const bert_matrix values{v.data(), s.m, s.Dv};
    REQUIRE(bert_attention(queries, keys, values, &options, out.data(), weights.data()) == BERT_OK);
    REQUIRE(bert_attention(queries, keys, values, &options, alone.data(), nullptr) == BERT_OK);
    CHECK(out == alone);
    const Twin twin = naive(s, q, k, v, mask);
    CHECK(largest_difference(out, twin.out) < 2e-6);
    CHECK(largest_difference(weights, twin.weights) < 1e-6);
  }
}

}  // namespace bert
