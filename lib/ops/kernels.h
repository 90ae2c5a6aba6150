#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/export.h"
#include "ops/activation.h"
#include "ops/matrix.h"

namespace bert {

/// Row-wise kernels for the best instruction set of this CPU (base/cpu.h). The bits of a row do not
/// depend on the other rows. tests/unit compares each kernel with a naive twin.

/// out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias, row by row (Ba et al. 2016).
///   x, out [T, H] (may be the same)   weight, bias [H]
void layer_norm(ConstMatrix x, std::span<const float> weight, std::span<const float> bias,
                float eps, Matrix out);

/// out = x / sqrt(mean(x^2) + eps) * weight, row by row (Zhang and Sennrich 2019).
///   x, out [T, H] (may be the same)   weight [H]
void rms_norm(ConstMatrix x, std::span<const float> weight, float eps, Matrix out);

/// Adds rows, as a residual connection does: x += y.   x, y [T, H]
BERT_API void add(ConstMatrix y, Matrix x);

/// Its first half of columns = act(first half) * second half (Shazeer 2020, GLU variants).
///   x [T, 2I]
void gate(Activation act, Matrix x);

/// x = act(x), element by element.
BERT_API void activate(Activation act, std::span<float> x);

/// x = softmax(x), computed after subtracting the maximum. A row of only -inf becomes zeros.
BERT_API void softmax(std::span<float> x);

/// The maximum of each kMaximaOf elements of x [n]; the last of fewer. NaN is none.
constexpr size_t kMaximaOf = 64;
void maxima(std::span<const float> x, std::span<float> out);

/// sum(exp(x - top)) for a `top` that is not below any of x; 0 if it is -inf.
double exp_sum(std::span<const float> x, float top);

/// log(sum(exp(x))) within 1e-6.
double log_sum_exp(std::span<const float> x);

BERT_API float dot(const float* a, const float* b, size_t n);

}  // namespace bert
