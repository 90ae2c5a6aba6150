#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "capture.h"
#include "directory/model_files.h"
#include "heads/attentive_pooling.h"
#include "heads/classification.h"
#include "model/config.h"
#include "nn/attentive_pooling_gradient.h"
#include "temporary.h"
#include "training_fixture.h"

using namespace bert;
using bert::test::Fixture;
using bert::test::TemporaryDirectory;

namespace {

double error(const std::vector<float>& found, const std::vector<float>& wanted) {
  REQUIRE(found.size() == wanted.size());
  double most = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    most = std::max(most, std::fabs(static_cast<double>(found[i]) - wanted[i]));
  }
  return most;
}

Matrix matrix(std::vector<float>& values, size_t rows) {
  return {values.data(), rows, values.size() / rows};
}

const std::vector<size_t> kBegins = {0, 1, 6, 29};
constexpr size_t kHops = 3, kSize = 5, kTokens = 29;

/// W and V of the fixture, or gradients of their size.
struct Parameters {
  std::vector<float> w, v;
  nn::PoolingWeights weights() {
    return {{matrix(w, kSize), nullptr}, {matrix(v, kHops), nullptr}};
  }
};

}  // namespace

TEST_CASE("Attentive pooling: forward and backward equal autograd, with the penalty too") {
  const Fixture f("attentive-pooling");
  Parameters parameters{f.floats("w"), f.floats("v")};
  std::vector<float> hidden = f.floats("hidden"), dy = f.floats("dy");
  for (const auto& [name, penalty] : {std::pair("plain", 0.f), {"penalty", 0.75f}}) {
    CAPTURE_BINDING(name);
    nn::PoolingBuffers buffers;
    std::vector<float> pooled(dy.size());
    nn::pooling_forward(parameters.weights(), kBegins, matrix(hidden, kTokens), matrix(pooled, 3),
                        buffers);
    CHECK(error(pooled, f.floats("y")) < 1e-6);
    CHECK(nn::hop_overlap(parameters.weights(), kBegins, buffers) ==
          doctest::Approx(f.floats("overlap")[0]).epsilon(1e-6));
    Parameters gradient{std::vector<float>(parameters.w.size(), 1),
                        std::vector<float>(parameters.v.size(), 1)};
    std::vector<float> d_hidden(hidden.size(), 1);
    nn::pooling_backward(parameters.weights(), kBegins, matrix(hidden, kTokens), matrix(dy, 3),
                         penalty, gradient.weights(), matrix(d_hidden, kTokens), buffers);
    for (std::vector<float>* sum : {&gradient.w, &gradient.v, &d_hidden}) {
      for (float& value : *sum) value -= 1;  // gradients are added
    }
    const std::string prefix = std::string(name) + ".d";
    CHECK(error(gradient.w, f.floats(prefix + "w")) < 1e-5);
    CHECK(error(gradient.v, f.floats(prefix + "v")) < 1e-5);
    CHECK(error(d_hidden, f.floats(prefix + "hidden")) < 1e-5);
  }
}

TEST_CASE("Attentive pooling: the lecture notes' example, one hop and several") {
  std::vector<float> hidden = {1, 0, 0, 1, 1, 1}, pooled(2);
  Parameters one{{1, 0, 0, 1}, {1, 1}};
  nn::PoolingBuffers buffers;
  const std::vector<size_t> begins = {0, 3};
  nn::pooling_forward({{matrix(one.w, 2), nullptr}, {matrix(one.v, 1), nullptr}}, begins,
                      matrix(hidden, 3), matrix(pooled, 1), buffers);
  const std::vector<float> scores(buffers.scores.data(), buffers.scores.data() + 3);
  CHECK(error(scores, {.761594f, .761594f, 1.523188f}) < 1e-6);
  const std::vector<float> weights(buffers.weights.data(), buffers.weights.data() + 3);
  CHECK(error(weights, {.241447f, .241447f, .517105f}) < 1e-6);
  CHECK(error(pooled, {.758552f, .758552f}) < 2e-6);

  // The rows of A are separate: those of hops that are alike are alike.
  std::vector<float> v = {1, 1, 0, 0, 1, 1}, three(6);
  nn::pooling_forward({{matrix(one.w, 2), nullptr}, {matrix(v, 3), nullptr}}, begins,
                      matrix(hidden, 3), matrix(three, 1), buffers);
  CHECK(std::vector<float>(three.begin(), three.begin() + 2) == pooled);
  CHECK(std::vector<float>(three.begin() + 4, three.end()) == pooled);
  CHECK(error({three[2], three[3]}, {2 / 3.f, 2 / 3.f}) < 1e-6);
}
