#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"

namespace bert {

/// How logits become values, by the rule of transformers' text-classification pipeline: regression
/// (by problem_type only): as they are; multi_label_classification or a single label: sigmoid; else
/// softmax. A CrossEncoder that names its activation has that: Sigmoid for any number of labels,
/// Identity for one.
enum class Normalization { softmax, sigmoid, none };

/// A head over the whole sequence (Devlin et al. 2019, figure 4 a, b): a classifier on the pooled
/// output (BERT), or on the first hidden state through a layer of its own (ELECTRA, DistilBERT);
/// next sentence prediction is the same with two classes.
///
/// Thread rule: const after open(); one workspace per thread.
class BERT_API Classifier {
 public:
  /// The sequence classification head. Throws Error(data) that names the missing head,
  /// Error(unsupported) of an activation that we lack.
  static Classifier open(const Model& model);
  /// The next sentence head, cls.seq_relationship (task 2 of the paper): labels IsNext (0), NotNext
  /// (1).
  static Classifier open_next_sentence(const Model& model);

  const std::vector<std::string>& labels() const { return labels_; }
  Normalization normalization() const { return normalization_; }
  bool regression() const { return regression_; }

  /// Logits [S, labels], in the workspace until the next call.
  Matrix logits(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace) const;
  /// logits -> probabilities (or values) in place, by normalization().
  void normalize(Matrix logits) const;

 private:
  const Model* model_ = nullptr;
  Linear dense_;  ///< ELECTRA's and DistilBERT's own first layer, [H, H]
  Activation dense_act_ = Activation::none;
  Linear output_;  ///< [labels, H]
  bool pooler_ = false;
  std::vector<std::string> labels_;
  Normalization normalization_ = Normalization::softmax;
  bool regression_ = false;
};

}  // namespace bert
