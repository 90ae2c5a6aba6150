#pragma once

#include <cstdint>

#include "ops/matrix.h"

namespace bert::training {

/// A mix of two numbers into one that looks random (splitmix64's finaliser).
constexpr uint64_t mix(uint64_t key, uint64_t value) {
  uint64_t z = key + 0x9E3779B97F4A7C15u * (value + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Dropout (Srivastava et al. 2014) whose mask is a function of its key and the element's place
/// alone: the way back makes it again instead of keeping it, and neither threads nor a resumed run
/// change it.
struct Dropout {
  float rate = 0;    ///< in [0, 1)
  uint64_t key = 0;  ///< of seed, step, layer and site
  size_t row_0 = 0;  ///< number of the first row of x among all rows of the step

  bool active() const { return rate > 0; }
};

/// x = x * mask / (1 - rate), in place. The gradient is the same function of dy.
void dropout(const Dropout& dropout, Matrix x);

/// One row of it, by the number of the row.
void dropout_row(const Dropout& dropout, uint64_t row, float* x, size_t n);

}  // namespace bert::training
