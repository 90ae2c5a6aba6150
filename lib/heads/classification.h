#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"
#include "heads/attentive_pooling.h"
#include "heads/transform.h"

namespace bert {

/// The function from logits to values, as in transformers' text-classification pipeline: none for
/// problem_type regression, sigmoid for multi_label_classification or a single label, else softmax.
/// A CrossEncoder may name its function instead: Sigmoid, or Identity if it has one label.
enum class Normalization { softmax, sigmoid, none };

/// The place of the last token of sequence `s` that is no padding; its first if all are.
BERT_API size_t last_token(const PackedBatch& batch, size_t s, int32_t padding);

/// A head over the whole sequence (Devlin et al. 2019, figure 4 a, b): a classifier on the pooled
/// output (BERT), or on one hidden state, often after a dense layer (ELECTRA, DistilBERT), or on
/// all hops of attentive pooling. Next sentence prediction is the same head with two classes.
///
/// Thread rule: const after open(); one workspace per thread.
class BERT_API Classifier {
 public:
  /// Opens the sequence classification head. Throws Error(data) that names the missing head,
  /// Error(unsupported) for an activation that we lack.
  static Classifier open(const Model& model);
  /// Opens the next sentence head, cls.seq_relationship (task 2 of the paper), with the labels
  /// IsNext (0) and NotNext (1).
  static Classifier open_next_sentence(const Model& model);

  const std::vector<std::string>& labels() const { return labels_; }
  const std::string& config_path() const { return model_->config().path; }  ///< names the labels
  Normalization normalization() const { return normalization_; }
  bool regression() const { return regression_; }

  /// Logits [S, labels], in the workspace until the next call.
  Matrix logits(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace) const;
  /// Turns logits into probabilities (or values) in place, by normalization().
  void normalize(Matrix logits) const;

 private:
  /// The hidden states that are read, one for each text: [S, H].
  Matrix gather(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace) const;
  /// What the last layer reads: [S, H], or [S, hops H].
  ConstMatrix features(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace) const;

  const Model* model_ = nullptr;
  AttentivePooling pooling_;
  HeadTransform transform_;
  TextInput input_ = TextInput::first;
  Linear dense_;  ///< [H, H], the first layer of ELECTRA and DistilBERT
  Activation dense_act_ = Activation::none;
  Linear output_;  ///< [labels, H]
  bool pooler_ = false;
  std::vector<std::string> labels_;
  Normalization normalization_ = Normalization::softmax;
  bool regression_ = false;
};

}  // namespace bert
