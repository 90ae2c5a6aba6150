#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"
#include "heads/transform.h"
#include "model/layers.h"
#include "nn/recurrent.h"

namespace bert {

/// A head over each token (Devlin et al. 2019, figure 4 d): a linear layer on its hidden state, or
/// on what a bidirectional LSTM makes of the states of some layers (section 5.3).
///
/// Thread rule: const after open(); each thread has a TokenScorer.
class BERT_API TokenClassifier {
 public:
  /// Throws Error(data) that names the missing head.
  static TokenClassifier open(const Model& model);

  const std::vector<std::string>& labels() const { return labels_; }

 private:
  friend class TokenScorer;

  HeadTransform transform_;
  Linear output_;  ///< [labels, H], or [labels, 2 N] behind a BiLSTM of N units
  std::vector<std::string> labels_;
  std::optional<LayerExpression> layers_;  ///< that the BiLSTM reads
  size_t features_ = 0;                    ///< length of the vectors that it reads
  nn::RecurrentShape shape_;
  std::vector<nn::CellLinears> cells_;
};

/// The memory of one thread for a TokenClassifier, which it borrows.
class BERT_API TokenScorer {
 public:
  explicit TokenScorer(const TokenClassifier& head);
  TokenScorer(const TokenScorer&) = delete;
  TokenScorer& operator=(const TokenScorer&) = delete;

  /// With which the model's pass must run.
  const ForwardOptions& options() const { return options_; }
  /// What the head reads, [T, H] or the layers' vectors [T, W]: `hidden` is what that pass
  /// returned.
  ConstMatrix features(const PackedBatch& batch, ConstMatrix hidden) const;
  /// Logits [T, labels], in the workspace until the next call. A sequence's bits do not depend on
  /// the others.
  Matrix logits(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace);

 private:
  const TokenClassifier& head_;
  ForwardOptions options_;
  nn::RecurrentStack stack_;
  Buffer features_, outputs_;
};

}  // namespace bert
