#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// Products of queries and vectors that are quick and off by at most `error() |x|`, for a vector x
/// and a query of length 1.
///
///   Q queries, T vectors of a tile, D numbers each
///
/// The bound: each rounding changes a number by at most a factor 1 +- u, u = 2^-24 in float, and no
/// term of a sum of D products goes through more than D + 1 of them. By Cauchy and Schwarz the sum
/// of |q_d x_d| is at most |q| |x|. The length of x has half the error of its square, the same kind
/// of sum. The query's scaling and a caller's comparisons are a few roundings more. In bf16 both
/// factors of a product are rounded first, with u = 2^-8.
///
/// Reading the vectors takes longer than the products with a few queries, which are computed one by
/// one.
///
/// Thread rule: const after construction; each thread has its own Scratch.
class ScoreFilter {
 public:
  struct Scratch {
    LinearScratch linear;
    Buffer products;             ///< [T, Q]
    std::vector<float> lengths;  ///< [T]
  };
  /// Copies the queries [Q, D].
  explicit ScoreFilter(ConstMatrix queries);

  double error() const { return error_; }
  size_t queries() const { return units_.size() / width_; }
  /// [Q, D]: the queries, scaled to length 1, or zeros.
  ConstMatrix units() const { return {units_.data(), queries(), width_}; }
  /// [T, Q]: the products of each vector with each query of length 1. `scratch.lengths` become the
  /// vectors' lengths; NaN for a vector whose length, squared, is too large or too small for a
  /// float, of which the products say nothing.
  ConstMatrix operator()(ConstMatrix vectors, Scratch& scratch) const;

 private:
  size_t width_;              ///< D
  std::vector<float> units_;  ///< [Q, D] of length 1, or 0
  Linear linear_;             ///< none for a few queries
  double error_;
};

}  // namespace bert
