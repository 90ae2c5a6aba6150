#pragma once

#include <span>
#include <vector>

#include "ops/matrix.h"

namespace bert::nn {

/// Where the sines and cosines of a position stand in its row.
///   interleaved  sin, cos, sin, cos ..                    Vaswani et al. 2017, 3.5
///   halves       all sines, then all cosines              Marian and its models in transformers
enum class SinusoidOrder { interleaved, halves };

/// The sinusoids of positions: number i of a row is the sine (even i) or the cosine (odd i) of
/// position / 10000^(2 floor(i / 2) / D). Attention has no order of its own; these rows, added to
/// its inputs, give it one. They are computed in double and rounded once.
///
/// Thread rule: const.
class Sinusoids {
 public:
  Sinusoids(size_t size, SinusoidOrder order);
  /// out [D] = the row of a position, which counts from 0.
  void row(size_t position, std::span<float> out) const;
  /// x[t] += the row of position first + t.   x [T, D]
  void add(size_t first, Matrix x) const;

 private:
  template <typename Use>
  void for_each(size_t position, Use use) const;

  size_t size_;  ///< D
  SinusoidOrder order_;
  std::vector<double> scales_;  ///< 10000^(2 i / D) of each pair
};

}  // namespace bert::nn
