#pragma once

#include <span>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"
#include "heads/transform.h"

namespace bert {

/// The matrix [V, ..] that makes logits of hidden states: the head's own, or the word table.
TensorSpec decoder_spec(const Config& config, const Weights& weights);

/// BERT's masked language model head (Devlin et al. 2019, task 1): dense, hidden_act, layer norm,
/// then a projection onto the vocabulary with its own bias. The projection may be tied to the word
/// table.
///
/// Thread rule: const after open(); one workspace per thread.
class BERT_API MaskedLM {
 public:
  /// Borrows `model`. Throws Error(data) that names the missing head and the tools that work.
  static MaskedLM open(const Model& model);

  /// The logits [M, V] of the rows `positions` (indices into the packed batch) of hidden [T, H].
  /// Only these rows go through the head. The logits are in the workspace until the next call.
  Matrix logits(ConstMatrix hidden, std::span<const size_t> positions, Workspace& workspace) const;

 private:
  HeadTransform transform_;         ///< to [M, E]
  Linear decoder_;                  ///< [V, E]
  std::vector<float> rest_weight_;  ///< [V, H - E]
  Linear rest_;  ///< the same as a layer: what MobileBERT reads beside [M, E], or none
};

}  // namespace bert
