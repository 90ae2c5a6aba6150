#pragma once

#include <optional>
#include <vector>

#include "base/export.h"
#include "directory/sentence_modules.h"
#include "encoder/norm.h"
#include "ops/linear.h"
#include "ops/matrix.h"
#include "predict/token_convolution.h"

namespace bert {

/// The layers of sentence modules, with their weights.
class BERT_API DenseModules {
 public:
  /// Throws Error naming file and tensor.
  explicit DenseModules(const std::vector<SentenceModules::Dense>& modules);
  bool empty() const { return layers_.empty(); }
  /// x [S, in] -> [S, out], in scratch until the next call. A convolution wants the batch whose
  /// tokens the rows are.
  Matrix apply(Matrix x, Buffer& first, Buffer& second, LinearScratch& scratch,
               const PackedBatch* batch = nullptr) const;

 private:
  struct Layer {
    Norm norm;  ///< instead of the rest, if it has weights
    Linear linear;
    Activation activation = Activation::none;
    bool residual = false;
    std::optional<Linear> projection;  ///< the residual's
    TokenConvolution convolution;      ///< instead of the rest, if it has weights
    size_t width = 0;                  ///< width of what it writes
  };
  static void run(const Layer& layer, Matrix x, Matrix y, LinearScratch& scratch);

  std::vector<Layer> layers_;
};

}  // namespace bert
