#pragma once

#include <vector>

#include "directory/module_layer.h"
#include "encoder/packed_batch.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// The CNN of sentence-transformers: convolutions of several widths over the vectors of tokens,
/// side by side. Zeros continue each sequence on both sides, as in a batch of one text.
class TokenConvolution {
 public:
  TokenConvolution() = default;
  /// Throws Error naming file and tensor.
  explicit TokenConvolution(const ModuleLayer& layer);
  explicit operator bool() const { return !convolutions_.empty(); }
  /// x [T, in] -> y [T, out]
  void operator()(const PackedBatch& batch, ConstMatrix x, Matrix y, LinearScratch& scratch) const;

 private:
  struct One {
    size_t kernel = 0;           ///< K tokens
    std::vector<float> weights;  ///< [out, K * in], which `linear` borrows
    Linear linear;
  };
  std::vector<One> convolutions_;
};

}  // namespace bert
