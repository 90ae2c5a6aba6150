#pragma once

#include <cstdint>

#include "base/random.h"
#include "ops/matrix.h"

namespace bert::nn {

/// Dropout (Srivastava et al. 2014). The mask depends only on the key and the place of an element.
/// So the backward pass recomputes the mask instead of keeping it, and the mask is the same for any
/// number of threads and after a resume.
struct Dropout {
  float rate = 0;    ///< in [0, 1)
  uint64_t key = 0;  ///< made of seed, step, layer and site
  size_t row_0 = 0;  ///< number of the first row of x among all rows of the step

  bool active() const { return rate > 0; }
};

/// x = x * mask / (1 - rate), in place. The gradient is the same function of dy.
void dropout(const Dropout& dropout, Matrix x);

/// The same for one row; `row` is its number in the step.
void dropout_row(const Dropout& dropout, uint64_t row, float* x, size_t n);

}  // namespace bert::nn
