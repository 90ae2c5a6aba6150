#include "predict/sparse_model.h"

#include "directory/token_layer.h"

namespace bert {

std::optional<HeadKind> SparseModel::head_of(const ModelDirectory& directory) {
  if (has_token_layers(directory)) return std::nullopt;
  return HeadKind::masked_lm;
}

SparseModel SparseModel::open(const OpenedModel& opened, const SentenceModules& modules) {
  SparseModel sparse(opened.model(), modules);
  sparse.weights_ = TokenWeights::find(opened.model(), opened.tokenizer());
  if (sparse.weights_) {
    opened.settle(*sparse.weights_->layer().weights);
  } else {
    sparse.head_ = MaskedLM::open(opened.model());
  }
  return sparse;
}

std::unique_ptr<SparseVectors> SparseModel::make(size_t max_batch_tokens) const {
  if (weights_) return std::make_unique<TokenWeightPredictor>(*weights_, max_batch_tokens);
  return std::make_unique<SparsePredictor>(*model_, *head_, pooling_, max_batch_tokens);
}

}  // namespace bert
