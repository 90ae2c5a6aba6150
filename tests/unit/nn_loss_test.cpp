#include <doctest/doctest.h>

#include <iterator>
#include <vector>

#include "nn/loss.h"

using namespace bert;

namespace {

// Numbers of PyTorch 2 in fp64: cross_entropy(label_smoothing, weight, reduction="sum") and
// T^2 kl_div(log_softmax(z / T), log_softmax(t / T), log_target=True, reduction="sum").
constexpr float kLogits[] = {0.3f, -1.2f, 2.0f, 1.5f, 0.2f, -0.7f, -0.4f, 0.9f, 0.1f};
constexpr int32_t kLabels[] = {2, 1, nn::kIgnored};

void check_near(const std::vector<float>& found, const std::vector<double>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    CHECK(static_cast<double>(found[i]) == doctest::Approx(wanted[i]).epsilon(1e-4));
  }
}

}  // namespace

TEST_CASE("label smoothing is PyTorch's") {
  std::vector<float> z(std::begin(kLogits), std::end(kLogits));
  size_t right = 0;
  const double loss = nn::cross_entropy({z.data(), 3, 3}, kLabels, {}, 1, &right, 0.1f);
  CHECK(loss == doctest::Approx(1.97616846021071).epsilon(1e-6));
  CHECK(right == 1);
  check_near(z, {0.115985529, -1.57917e-05, -0.115969737, 0.689557387, -0.736322629, 0.046765242, 0,
                 0, 0});
}

TEST_CASE("label smoothing with class weights is PyTorch's") {
  std::vector<float> z(std::begin(kLogits), std::end(kLogits));
  const std::vector<float> weights = {0.5f, 2.0f, 1.0f};
  const double loss = nn::cross_entropy({z.data(), 3, 3}, kLabels, weights, 1, nullptr, 0.2f);
  CHECK(loss == doctest::Approx(3.686638514424069).epsilon(1e-6));
  check_near(z, {0.120962824, -0.098905207, -0.022057617, 1.291966321, -1.372147042, 0.080180721, 0,
                 0, 0});
}

TEST_CASE("distillation is PyTorch's KL divergence") {
  std::vector<float> z(std::begin(kLogits), std::end(kLogits));
  const std::vector<float> teacher = {0.1f, 0.2f, 1.0f, 2.0f, -0.3f, 0.4f, 0, 0, 1};
  const double loss = nn::distillation({z.data(), 3, 3}, {teacher.data(), 3, 3}, kLabels, 2.5f, 1);
  CHECK(loss == doctest::Approx(0.6185651329433863).epsilon(1e-6));
  check_near(z, {-0.009917454, -0.359486629, 0.369404084, -0.053941814, 0.222370638, -0.168428824,
                 0, 0, 0});
}
