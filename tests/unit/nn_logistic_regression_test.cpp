#include <doctest/doctest.h>

#include <vector>

#include "nn/logistic_regression.h"

namespace bert::nn {

TEST_CASE("logistic regression is that of scikit-learn") {
  std::vector<float> x = {.5f, -1, 2,    1.5f, .25f, -1, -.75f, 2,    .5f,  0, 1,
                          1,   2,  -.5f, .25f, -1,   -1, -1,    .25f, .75f, -2};
  const struct {
    size_t classes;
    std::vector<int32_t> labels;
    std::vector<double> weights, biases;  // coef_ and intercept_, with tol=1e-12
  } cases[] = {
      {2,
       {0, 1, 1, 0, 1, 0, 1},
       {-0.3709267052798481, -0.35400229788794995, 0.32030247933210595, 0.3709267052798481,
        0.35400229788794995, -0.32030247933210595},
       {0.040200235627550425, -0.040200235627550425}},
      {3,
       {0, 1, 2, 2, 1, 0, 1},
       {-0.4662308613523954, -0.8003673488322981, 0.2156272879801843, 0.7961094771740695,
        0.043442152020372146, -0.6184022321521069, -0.329878615821674, 0.7569251968119258,
        0.40277494417192233},
       {0.19726222664392576, 0.024086427831838234, -0.2213486544757639}},
  };
  for (const auto& c : cases) {
    const LinearClassifier fitted = fit_logistic(ConstMatrix(x.data(), 7, 3), c.labels, c.classes);
    REQUIRE(fitted.weights.size() == c.weights.size());
    for (size_t i = 0; i < c.weights.size(); ++i) {
      CHECK(fitted.weights[i] == doctest::Approx(c.weights[i]).epsilon(1e-5));
    }
    for (size_t i = 0; i < c.biases.size(); ++i) {
      CHECK(fitted.biases[i] == doctest::Approx(c.biases[i]).epsilon(1e-4));
    }
  }
}

}  // namespace bert::nn
