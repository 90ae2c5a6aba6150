#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "predict/whitening.h"
#include "rows/vector_format.h"
#include "temporary.h"

using namespace bert;

namespace {

/// n vectors [n, width] whose numbers depend on each other.
std::vector<float> vectors(size_t n, size_t width) {
  std::vector<float> out(n * width);
  uint64_t state = 1;
  for (size_t i = 0; i < out.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto noise = static_cast<float>(state >> 40) / 16777216.0f;
    out[i] = 3 + noise + (i % width > 0 ? 0.5f * out[i - 1] : 0);
  }
  return out;
}

std::string bytes(std::initializer_list<int> values) {
  return std::string(values.begin(), values.end());
}

}  // namespace

TEST_CASE("whitened vectors have mean 0 and covariance 1, the widest direction first") {
  constexpr size_t kN = 400, kWidth = 6;
  std::vector<float> x = vectors(kN, kWidth);
  WhiteningSum sum(kWidth);
  for (size_t i = 0; i < kN; ++i) sum.add({&x[i * kWidth], kWidth});
  std::vector<float> nan(kWidth, std::numeric_limits<float>::quiet_NaN());
  sum.add(nan);
  CHECK(sum.count() == kN);
  for (const size_t dims : {size_t{6}, size_t{2}}) {
    const Whitening whitening = sum.solve(dims);
    CHECK(whitening.width() == dims);
    std::vector<float> y(kN * dims);
    whitening.apply({x.data(), kN, kWidth}, {y.data(), kN, dims, dims});
    for (size_t a = 0; a < dims; ++a) {
      double mean = 0;
      for (size_t i = 0; i < kN; ++i) mean += static_cast<double>(y[i * dims + a]) / kN;
      CHECK(std::abs(mean) < 1e-5);
      for (size_t b = 0; b <= a; ++b) {
        double covariance = 0;
        for (size_t i = 0; i < kN; ++i) {
          covariance += static_cast<double>(y[i * dims + a]) * y[i * dims + b] / kN;
        }
        CHECK(std::abs(covariance - (a == b)) < 1e-4);
      }
    }
  }
}

TEST_CASE("a whitening is read as it was written, and vectors that vary too little are refused") {
  const test::TemporaryFile place("");
  WhiteningSum sum(2);
  const float points[4][2] = {{1, 0}, {-1, 0}, {0, 2}, {0, -2}};
  for (const auto& point : points) sum.add(point);
  const Whitening written = sum.solve(2);
  OutputFile file(place.path());
  written.save(file);
  const Whitening whitening = Whitening::open(place.path());
  float y[2];
  whitening.apply({points[2], 1, 2}, {y, 1, 2, 2});
  CHECK(y[0] == doctest::Approx(std::sqrt(2.0)));  // the second number varies most
  CHECK(y[1] == doctest::Approx(0));
  WhiteningSum line(2);
  for (const float t : {0.f, 1.f, 2.f}) line.add(std::vector<float>{t, 2 * t});
  CHECK_THROWS_AS(line.solve(2), Error);
  CHECK_NOTHROW(line.solve(1));
  CHECK_THROWS_AS(WhiteningSum(2).solve(1), Error);
}

TEST_CASE("vectors in bytes and bits") {
  const auto written = [](VectorFormat format, std::vector<float> x,
                          std::optional<double> scale = {}) {
    std::string out;
    append_vector(format, x, scale, out);
    return out;
  };
  CHECK(written(VectorFormat::i8, {1, -2, 0.5f, 0}) == bytes({64, -127, 32, 0}));
  CHECK(written(VectorFormat::i8, {0, 0}) == bytes({0, 0}));
  CHECK(written(VectorFormat::i8, {0.25f, -1}, 10) == bytes({2, -10}));  // halves to even
  CHECK_THROWS_AS(written(VectorFormat::i8, {1, 13}, 10), Error);
  CHECK(written(VectorFormat::i8, {1, NAN}) == bytes({0, 0}));
  CHECK(written(VectorFormat::bits, {1, -1, 0, 2, 3, 0, 0, -1, 1, 0}) == bytes({0x98, 0x80}));
  CHECK(npy_columns(VectorFormat::bits, 16) == 2);
  CHECK(row_bytes(VectorFormat::npy, 16) == 64);
  CHECK(bad_vector(VectorFormat::i8, 2) == bytes({0, 0}));
}
