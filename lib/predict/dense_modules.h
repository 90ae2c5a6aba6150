#pragma once

#include <vector>

#include "base/export.h"
#include "directory/sentence_modules.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// The sentence module's dense layers, with their weights.
class BERT_API DenseModules {
 public:
  /// Throws Error naming file and tensor.
  explicit DenseModules(const std::vector<SentenceModules::Dense>& modules);
  /// x [S, in] -> [S, out], in scratch until the next call.
  Matrix apply(Matrix x, Buffer& first, Buffer& second, LinearScratch& scratch) const;

 private:
  struct Layer {
    Linear linear;
    Activation activation;
  };
  std::vector<Layer> layers_;
};

}  // namespace bert
