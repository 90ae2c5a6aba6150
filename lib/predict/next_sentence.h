#pragma once

#include <vector>

#include "heads/classification.h"
#include "predict/batcher.h"
#include "predict/sequences.h"

namespace bert {

/// The logits of a pair, and P(text_pair follows text), their softmax; NaN of a text without a
/// pair.
struct BERT_API NextSentence {
  bool has_pair = false;
  float is_next = 0;
  float not_next = 0;

  double probability() const;
};

/// Next sentence prediction (Devlin et al. 2019, task 2): the two logits of cls.seq_relationship,
/// of which index 0 is IsNext. Thread rule: const; each thread has a Batcher.
class BERT_API NextSentencePredictor {
 public:
  /// Opens the head of the model, which it borrows. Throws Error as Classifier::open_next_sentence.
  explicit NextSentencePredictor(const Model& model)
      : model_(model), head_(Classifier::open_next_sentence(model)) {}

  const std::vector<std::string>& labels() const { return head_.labels(); }
  /// Sets out [texts]. A text that no sequence is of has no pair.
  void predict(const Sequences& sequences, size_t texts, Batcher& batcher,
               std::vector<NextSentence>& out) const;

 private:
  const Model& model_;
  const Classifier head_;
};

}  // namespace bert
