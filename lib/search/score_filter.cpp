#include "search/score_filter.h"

#include <cmath>
#include <limits>

#include "ops/arithmetic.h"
#include "ops/kernels.h"

namespace bert {
namespace {

constexpr size_t kFew = 4;

/// Squared lengths in which no product of components matters that underflows.
constexpr float kLeast = 1e-24f, kMost = 1e24f;

double length_of(const float* x, size_t n) {
  double sum = 0;
  for (size_t d = 0; d < n; ++d) sum += static_cast<double>(x[d]) * x[d];
  return std::sqrt(sum);
}

std::vector<float> unit_rows(ConstMatrix x) {
  std::vector<float> units(x.rows * x.cols);
  for (size_t q = 0; q < x.rows; ++q) {
    const double length = length_of(x.row(q), x.cols);
    for (size_t d = 0; d < x.cols && length > 0; ++d) {
      units[q * x.cols + d] = static_cast<float>(x.row(q)[d] / length);
    }
  }
  return units;
}

/// bf16 where the CPU multiplies it, which is twice as fast as float.
Precision quickest() {
  return products_in(Precision::bf16) == std::string_view("bf16") ? Precision::bf16
                                                                  : Precision::f32;
}

double error_bound(Precision precision, size_t n) {
  const double sums = 1.5 * static_cast<double>(n + 16) * 0x1p-24;
  return 1.01 * (precision == Precision::bf16 ? sums + 0x1p-7 + 0x1p-16 : sums);
}

}  // namespace

ScoreFilter::ScoreFilter(ConstMatrix queries)
    : width_(queries.cols),
      units_(unit_rows(queries)),
      error_(error_bound(queries.rows > kFew ? quickest() : Precision::f32, queries.cols)) {
  if (queries.rows <= kFew) return;
  const auto* data = reinterpret_cast<const std::byte*>(units_.data());
  linear_ = Linear({data, DType::f32, queries.rows, width_}, {}, quickest());
}

ConstMatrix ScoreFilter::operator()(ConstMatrix vectors, Scratch& scratch) const {
  const Matrix products = scratch.products.matrix(vectors.rows, queries());  // [T, Q]
  if (linear_) {
    linear_(vectors, products, Activation::none, scratch.linear);
  } else {
    for (size_t t = 0; t < vectors.rows; ++t) {
      for (size_t q = 0; q < products.cols; ++q) {
        products.row(t)[q] = dot(vectors.row(t), units_.data() + q * width_, width_);
      }
    }
  }
  scratch.lengths.resize(vectors.rows);
  for (size_t t = 0; t < vectors.rows; ++t) {
    const float square = dot(vectors.row(t), vectors.row(t), vectors.cols);
    const bool known = square > kLeast && square < kMost;
    scratch.lengths[t] = known ? std::sqrt(square) : std::numeric_limits<float>::quiet_NaN();
  }
  return products;
}

}  // namespace bert
