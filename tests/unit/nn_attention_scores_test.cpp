#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "capture.h"
#include "nn/attention_scores.h"
#include "nn/positions.h"
#include "training_fixture.h"

namespace bert::nn {
namespace {

using test::Data;
using test::error;
using test::Fixture;

constexpr double kTolerance = 2e-6;

/// The parameters of one score of the fixture, or room for their gradients.
struct Parameters {
  Data wq, wk, w, b, v, width;
  bool joint, has_width, has_bias;

  Parameters(const Fixture& f, const std::string& name)
      : wq(data(f, name, "wq")),
        wk(data(f, name, "wk")),
        w(data(f, name, "w")),
        b(data(f, name, "b")),
        v(data(f, name, "v")),
        width(data(f, name, "width")),
        joint(w.rows > 0),
        has_width(width.rows > 0),
        has_bias(b.rows > 0) {}

  static Data data(const Fixture& f, const std::string& name, const std::string& key) {
    for (const std::string& found : f.names(name + ".")) {
      if (found == key) return Data(f, name + "." + key);
    }
    return Data(0, 0);
  }
  void clear() {
    for (Data* d : {&wq, &wk, &w, &b, &v, &width}) d->values.assign(d->values.size(), 0.f);
  }
  ScoreWeights weights(size_t query_size) {
    if (joint) {
      return ScoreWeights::joint(w.matrix(), query_size, has_bias ? b.values.data() : nullptr,
                                 v.values.data());
    }
    ScoreWeights weights;
    weights.query.weight = wq.matrix();
    weights.key.weight = wk.matrix();
    weights.v = v.values.data();
    weights.width = has_width ? width.values.data() : nullptr;
    return weights;
  }
};

const std::pair<const char*, Score> kScores[] = {
    {"dot", Score::dot},       {"scaled_dot", Score::scaled_dot}, {"additive", Score::additive},
    {"concat", Score::concat}, {"perceptron", Score::perceptron}, {"gauss", Score::gauss},
};

}  // namespace

TEST_CASE("scores of attention: forward and backward equal autograd") {
  const Fixture f("attention-scores");
  for (const auto& [short_name, score] : kScores) {
    const std::string name = short_name;
    CAPTURE(name);
    Data q(f, name + ".q"), k(f, name + ".k"), dy(f, name + ".dy");
    Data y(q.rows, k.rows), dq(q.rows, q.cols), dk(k.rows, k.cols);
    Parameters parameters(f, name), gradients(f, name);
    gradients.clear();
    const ScoreWeights weights = parameters.weights(q.cols), gradient = gradients.weights(q.cols);
    ScoreBuffers buffers;
    score_forward(score, weights, q.matrix(), k.matrix(), y.matrix(), buffers);
    CHECK(error(y.values, f.floats(name + ".y")) < kTolerance);
    const auto check = [&](Data& found, const char* key) {
      if (found.rows == 0) return;
      CAPTURE(key);
      std::vector<float> wanted = f.floats(name + "." + key);
      CHECK(error(found.values, wanted) < kTolerance);
    };
    score_backward(score, weights, q.matrix(), k.matrix(), dy.matrix(), gradient, dq.matrix(),
                   dk.matrix(), buffers);
    check(dq, "dq");
    check(dk, "dk");
    check(gradients.wq, "dwq");
    check(gradients.wk, "dwk");
    check(gradients.w, "dw");
    check(gradients.b, "db");
    check(gradients.v, "dv");
    check(gradients.width, "dwidth");

    // Gradients are added to; what has no data is left out.
    score_backward(score, weights, q.matrix(), k.matrix(), dy.matrix(), {}, dq.matrix(), {},
                   buffers);
    std::vector<float> twice = f.floats(name + ".dq");
    for (float& value : twice) value *= 2;
    CHECK(error(dq.values, twice) < kTolerance);
    check(dk, "dk");
    check(gradients.v, "dv");
  }
}

TEST_CASE("the bits of a row of scores do not depend on the other queries") {
  const Fixture f("attention-scores");
  for (const auto& [name, score] :
       {std::pair("dot", Score::dot), {"scaled_dot", Score::scaled_dot}, {"gauss", Score::gauss}}) {
    Data q(f, std::string(name) + ".q"), k(f, std::string(name) + ".k");
    Data all(q.rows, k.rows), one(1, k.rows);
    ScoreBuffers buffers;
    score_forward(score, {}, q.matrix(), k.matrix(), all.matrix(), buffers);
    for (size_t i = 0; i < q.rows; ++i) {
      score_forward(score, {}, q.matrix().slice(i, 1), k.matrix(), one.matrix(), buffers);
      const float* row = all.matrix().row(i);
      CHECK(std::vector<float>(row, row + k.rows) == one.values);
    }
  }
}

TEST_CASE("softmax of rows: forward and backward equal autograd, extreme scores are no NaN") {
  const Fixture f("attention-scores");
  Data x(f, "softmax.x"), dp(f, "softmax.dy");
  for (float& value : x.values) value *= 4;
  softmax_rows(x.matrix());
  CHECK(error(x.values, f.floats("softmax.y")) < kTolerance);
  softmax_rows_backward(x.matrix(), dp.matrix());
  for (float& value : dp.values) value *= 4;
  CHECK(error(dp.values, f.floats("softmax.dx")) < kTolerance);

  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> hard{1e4f, -1e4f, 0, -kInfinity, -kInfinity, -kInfinity};
  softmax_rows({hard.data(), 2, 3});
  CHECK(hard == std::vector<float>{1, 0, 0, 0, 0, 0});
}

TEST_CASE("sinusoids are those of transformers, in pairs or in halves") {
  const Fixture f("positions");
  for (const size_t size : {4, 24, 7}) {
    for (const auto& [name, order] : {std::pair("halves.", SinusoidOrder::halves),
                                      {"interleaved.", SinusoidOrder::interleaved}}) {
      CAPTURE_BINDING(name);
      CAPTURE(size);
      Data wanted(f, name + std::to_string(size));
      const Sinusoids sinusoids(size, order);
      std::vector<float> found(size), added(size, 1.f);
      for (size_t i = 0; i < wanted.rows; ++i) {
        sinusoids.row(23 * i, found);
        const float* row = wanted.matrix().row(i);
        CHECK(found == std::vector<float>(row, row + size));
      }
      sinusoids.add(46, {added.data(), 1, size});
      for (size_t c = 0; c < size; ++c) CHECK(added[c] == 1 + wanted.matrix().row(2)[c]);
    }
  }
}

}  // namespace bert::nn
