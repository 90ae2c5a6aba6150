#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/output_file.h"
#include "ops/matrix.h"

namespace bert {

/// Vectors made independent: y = (x - mean) W, so that over the texts that it was learned from, the
/// numbers of y have mean 0, variance 1 and no correlation (BERT-whitening, Su et al. 2021). The
/// first numbers of y come from the directions of the largest variance, so y may be cut to K.
///
/// A file is safetensors, F64 or another float type: `mean` [D] and `kernel` W [D, K].
class BERT_API Whitening {
 public:
  /// Throws Error (no_input, data) naming the file: other tensors, shapes or numbers.
  static Whitening open(const std::string& path);
  /// Writes and commits the file. Throws Error (io).
  void save(OutputFile& file) const;

  size_t input_width() const { return mean_.size(); }             ///< D
  size_t width() const { return kernel_.size() / mean_.size(); }  ///< K
  /// x [N, D] -> y [N, K], summed in fp64.
  void apply(ConstMatrix x, Matrix y) const;

 private:
  friend class WhiteningSum;
  std::vector<double> mean_;    ///< [D]
  std::vector<double> kernel_;  ///< [D, K]
};

/// Mean and covariance of vectors that come one after the other, in fp64.
class BERT_API WhiteningSum {
 public:
  explicit WhiteningSum(size_t width);
  /// Adds a vector [D]. One with a number that is not finite is left out.
  void add(std::span<const float> vector);
  size_t count() const { return count_; }
  /// With covariance U diag(s) U^T, W is the first `dims` columns of U diag(s)^-1/2; the number of
  /// the largest magnitude in each column of U is positive. Takes time in proportion to D^3.
  /// Throws Error(data) if the vectors do not vary in so many directions.
  Whitening solve(size_t dims) const;

 private:
  size_t width_;  ///< D
  size_t count_ = 0;
  std::vector<double> shift_;    ///< [D] the first vector, so that sums stay small
  std::vector<double> sum_;      ///< [D] of x - shift
  std::vector<double> squares_;  ///< [D, D] of (x - shift) (x - shift)^T, on and below the diagonal
};

}  // namespace bert
