#pragma once

#include <memory>
#include <optional>

#include "heads/masked_lm.h"
#include "predict/opened_model.h"
#include "predict/sparse_vectors.h"
#include "predict/token_weights.h"

namespace bert {

/// What gives sparse vectors in an opened model: the layer that weighs tokens where its directory
/// has one (BGE-M3), else its masked LM head. Const, shared by all threads.
class BERT_API SparseModel {
 public:
  /// The head that the model is opened with; none where a layer weighs the tokens.
  static std::optional<HeadKind> head_of(const ModelDirectory& directory);
  /// Borrows the model. Throws Error(data) that names a missing head or a file.
  static SparseModel open(const OpenedModel& opened, const SentenceModules& modules);
  /// For one thread; borrows this.
  std::unique_ptr<SparseVectors> make(size_t max_batch_tokens) const;

 private:
  SparseModel(const Model& model, const SentenceModules& modules)
      : model_(&model), pooling_(modules.splade.value_or(SpladePooling())) {}

  const Model* model_;
  SpladePooling pooling_;
  std::optional<TokenWeights> weights_;
  std::optional<MaskedLM> head_;
};

}  // namespace bert
