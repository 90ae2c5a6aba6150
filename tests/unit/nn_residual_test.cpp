#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "nn/activation_gradient.h"
#include "nn/linear_gradient.h"

namespace bert::training {
namespace {

constexpr size_t kLayers = 24, kWidth = 32, kRows = 4;

/// The length of dL/dx of `kLayers` layers f(x) = gelu(W x), or x + f(x), for dL/dy = 1.
double gradient_length(bool residual) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> weights(kLayers, std::vector<float>(kWidth * kWidth));
  // The input of each layer, and what its activation gets: [kRows, kWidth].
  std::vector<std::vector<float>> inputs(kLayers + 1, std::vector<float>(kRows * kWidth)),
      sums = inputs;
  for (float& x : inputs[0]) x = normal(random);
  for (size_t l = 0; l < kLayers; ++l) {
    for (float& w : weights[l]) w = 0.1F * normal(random);
    const Matrix sum{sums[l].data(), kRows, kWidth}, out{inputs[l + 1].data(), kRows, kWidth};
    nn::linear_forward({{weights[l].data(), kWidth, kWidth}}, {inputs[l].data(), kRows, kWidth},
                       sum);
    nn::activation_forward(Activation::gelu, sum, out);
    for (size_t i = 0; residual && i < kRows * kWidth; ++i) inputs[l + 1][i] += inputs[l][i];
  }
  std::vector<float> dy(kRows * kWidth, 1), inner, dx(kRows * kWidth);
  for (size_t l = kLayers; l-- > 0;) {
    inner = dy;
    const Matrix slope{inner.data(), kRows, kWidth};
    nn::activation_backward(Activation::gelu, {sums[l].data(), kRows, kWidth}, slope);
    nn::linear_backward({{weights[l].data(), kWidth, kWidth}}, {inputs[l].data(), kRows, kWidth},
                        slope, {}, {dx.data(), kRows, kWidth});
    for (size_t i = 0; i < dx.size(); ++i) dy[i] = residual ? dy[i] + dx[i] : dx[i];
  }
  double square = 0;
  for (const float g : dy) square += double{g} * g;
  return std::sqrt(square);
}

}  // namespace

TEST_CASE("a residual carries the gradient through 24 layers") {
  const double with = gradient_length(true), without = gradient_length(false);
  const double at_the_end = std::sqrt(double{kRows * kWidth});  // of dL/dy
  CHECK(with > at_the_end / 2);
  CHECK(without < at_the_end / 1000);  // it vanishes
}

}  // namespace bert::training
