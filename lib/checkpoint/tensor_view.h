#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "ops/dtype.h"
#include "ops/linear.h"

namespace bert {

/// A tensor where the file holds it. `data` may be unaligned; it lives as long as its Weights.
///
/// A matrix that `quantize` wrote is in kernel order (ops/linear.h): `blocked` says which, `shape`
/// is that of the matrix. Query, key and value of a layer are one such matrix; each of them is a
/// view of its rows from `first_row` on.
struct BERT_API TensorView {
  std::string name;  ///< as the file spells it
  DType dtype = DType::f32;
  std::vector<size_t> shape;
  const std::byte* data = nullptr;
  std::optional<Precision> blocked;
  bool factors = false;  ///< before the blocked matrix
  size_t first_row = 0;
  size_t all_rows = 0;  ///< rows of the whole blocked matrix

  size_t elements() const;
  /// A weight as models know it: of a float type, or blocked.
  bool is_weight() const { return blocked || is_float(dtype); }
  /// What the file holds of it. Not for a part of a blocked matrix.
  std::span<const std::byte> bytes() const;
  /// All of a weight.
  std::vector<float> floats() const;
  /// Row `index` of a matrix of weights, as floats.
  void row(size_t index, std::span<float> out) const;
  BlockedRef blocked_ref() const { return {data, *blocked, all_rows, shape[1], factors}; }
};

}  // namespace bert
