#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// Row-wise kernels. Each picks the best instruction set of this CPU once (base/cpu.h); each
/// computes a row by the same arithmetic whatever surrounds it. A naive twin of each stands in
/// tests/unit.

/// out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias, row by row (Ba et al. 2016).
///   x, out [T, H] (may be the same)   weight, bias [H]
void layer_norm(ConstMatrix x, std::span<const float> weight, std::span<const float> bias,
                float eps, Matrix out);

/// Adds rows, as a residual connection does: x += y.   x, y [T, H]
void add(ConstMatrix y, Matrix x);

/// x = act(x), element by element.
void activate(Activation act, std::span<float> x);

/// x = softmax(x): the maximum is subtracted; a row that is all -inf becomes zeros.
void softmax(std::span<float> x);

/// log(sum(exp(x))) within 1e-6.
double log_sum_exp(std::span<const float> x);

float dot(const float* a, const float* b, size_t n);

}  // namespace bert
