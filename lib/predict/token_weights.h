#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "directory/sentence_modules.h"
#include "predict/batcher.h"
#include "predict/sparse_vectors.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// The layer of BGE-M3 that gives each token of a text its weight (Chen et al. 2024):
/// relu(w . h + b) of its hidden state h. Const, shared by all threads.
class BERT_API TokenWeights {
 public:
  /// None if the model's directory has no such layer. Borrows the model. Throws Error(data) naming
  /// the file.
  static std::optional<TokenWeights> find(const Model& model, const Tokenizer& tokenizer);

  const SentenceModules::Dense& layer() const { return layer_; }

 private:
  friend class TokenWeightPredictor;
  TokenWeights(const Model& model, SentenceModules::Dense layer)
      : model_(&model), layer_(std::move(layer)), linear_(layer_.load()) {}

  const Model* model_;
  SentenceModules::Dense layer_;
  Linear linear_;                 ///< [1, H]
  std::vector<int32_t> skipped_;  ///< ids without a weight
};

/// Sparse vectors of these weights: an entry of the vocabulary has the largest of its tokens, in
/// all windows of a text; tokens of the frame, padding and the unknown token have none.
class BERT_API TokenWeightPredictor : public SparseVectors {
 public:
  /// Borrows the layer.
  TokenWeightPredictor(const TokenWeights& layer, size_t max_batch_tokens)
      : layer_(layer), batcher_(max_batch_tokens) {}
  void use_team(Team* team) override { batcher_.use_team(team); }
  void predict(const Sequences& sequences, size_t texts, const Use& use) override;

 private:
  void add(std::span<const int32_t> ids, ConstMatrix weights);

  const TokenWeights& layer_;
  Batcher batcher_;
  Buffer weights_;
  std::vector<float> text_;  ///< [V] of the text whose windows come in
};

}  // namespace bert
