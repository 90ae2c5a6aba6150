#pragma once

#include <cstddef>
#include <span>

#include "base/export.h"
#include "ops/dtype.h"
#include "ops/matrix.h"

namespace bert {

/// Vectors in kernel order: 16 of D values are one panel [D][16] of floats. For products with few
/// vectors of many, which Linear does not have.

/// Vectors in a panel.
constexpr size_t kVectorsOfPanel = 16;

/// Writes vectors [n, D], n <= 16, as one panel; those that lack are zeros. `panel` [D * 16] is
/// aligned to 64 bytes.
BERT_API void pack_panel(ConstMatrix vectors, float* panel);

/// The same of vectors [D] of any float type that lie anywhere, n <= 16.
void pack_panel(std::span<const std::byte* const> vectors, DType dtype, size_t width, float* panel);

/// out [rows, 16 * count] = x [rows, D] times the vectors of `count` panels, one behind the other;
/// with `add`, out += that. The bits of a row do not depend on the others.
BERT_API void multiply_panels(ConstMatrix x, const float* panels, size_t count, Matrix out,
                              bool add = false);

}  // namespace bert
