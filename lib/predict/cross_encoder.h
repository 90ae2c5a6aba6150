#pragma once

#include <vector>

#include "heads/classification.h"
#include "predict/batcher.h"
#include "predict/sequences.h"

namespace bert {

/// Whether the model's files put the scores of its CrossEncoder through a sigmoid. Otherwise a
/// score is the logit itself, which tells apart what a sigmoid in float rounds to 1.
BERT_API bool saves_sigmoid(const Model& model);

/// Scores of a cross-encoder (Nogueira and Cho 2019), which reads query and text as one pair: the
/// logit of a classifier with one output, as CrossEncoder of sentence-transformers computes it, or
/// its sigmoid. The score of a text in several windows is that of its best window (MaxP, Dai and
/// Callan 2019).
///
/// Thread rule: const; each thread has a Batcher.
class BERT_API CrossEncoder {
 public:
  /// Opens the head of the model, which it borrows.
  CrossEncoder(const Model& model, bool sigmoid)
      : model_(model), head_(Classifier::open(model)), sigmoid_(sigmoid) {}
  /// Throws Error(unsupported) for a head with several outputs.
  void check() const;

  /// Sets scores [texts].
  void predict(const Sequences& sequences, size_t texts, Batcher& batcher,
               std::vector<double>& scores) const;

 private:
  const Model& model_;
  const Classifier head_;
  const bool sigmoid_;
};

}  // namespace bert
