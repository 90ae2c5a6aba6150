#pragma once

#include <span>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"

namespace bert {

/// BERT's masked language model head (Devlin et al. 2019, task 1): dense, hidden_act, layer norm,
/// then a projection onto the vocabulary with a bias of its own, tied to the word table or not.
///
/// Thread rule: const after open(); one workspace per thread.
class BERT_API MaskedLM {
 public:
  /// Borrows `model`. Throws Error(data) that names the missing head and the tools that would work.
  static MaskedLM open(const Model& model);

  /// The logits [M, V] of the rows `positions` (indices into the packed batch) of hidden [T, H]; in
  /// the workspace until the next call. Only these rows go through the projection.
  Matrix logits(ConstMatrix hidden, std::span<const size_t> positions, Workspace& workspace) const;

 private:
  Linear transform_;  ///< [E, H]
  Activation act_ = Activation::gelu;
  std::vector<float> norm_weight_, norm_bias_;
  float eps_ = 0;
  Linear decoder_;  ///< [V, E]
};

}  // namespace bert
