#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/export.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// The last layer of a model that writes tokens: logits = W h + b, where W [V, D] has a row for
/// each token of the vocabulary.
///
/// Thread rule: const; one scratch per thread.
class BERT_API OutputLayer {
 public:
  OutputLayer() = default;
  /// Borrows the weights. `bias` [V] may be empty.
  OutputLayer(WeightRef weight, std::vector<float> bias, Precision precision);

  size_t size() const { return linear_.out_features(); }  ///< V
  size_t width() const { return linear_.in_features(); }  ///< D
  /// hidden [M, D] -> logits [M, V]
  void logits(ConstMatrix hidden, Matrix logits, LinearScratch& scratch) const;

 private:
  Linear linear_;
};

}  // namespace bert
