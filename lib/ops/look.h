#pragma once

#include <cstddef>
#include <span>

#include "ops/matrix.h"

namespace bert {

/// Attention of single queries (Vaswani et al. 2017, eq. 1), for decoders: a query looks at keys
/// that lie anywhere, each with its value `values` floats behind it.
///
/// Thread rule: no state. A result depends on its own query, keys and values only.
struct Look {
  size_t heads = 1;
  size_t head_size = 0;  ///< D
  float scale = 1;
  size_t values = 0;

  /// Floats of scratch.
  size_t scratch(size_t places) const { return heads * (places + 1); }
  /// q, out [heads * D]; keys: of each place, [heads * D]. scores, weights
  /// [heads, places] or without data: what softmax sees, and its result. bias [heads, places], one
  /// row behind the other, is added to the scaled scores, or nullptr.
  void operator()(const float* q, std::span<const float* const> keys, float* out, float* scratch,
                  Matrix scores = {}, Matrix weights = {}, const float* bias = nullptr) const;
};

}  // namespace bert
