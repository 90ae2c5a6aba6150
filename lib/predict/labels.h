#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heads/classification.h"
#include "predict/batcher.h"
#include "predict/sequences.h"

namespace bert {

/// What the user says of labels; nothing: those of the head.
struct LabelChoice {
  std::vector<std::string> candidates{};  ///< for zero-shot
  std::vector<std::string> names{};       ///< new ones of the head's labels, in order
  std::string hypothesis_template{};      ///< "{}" is the candidate
  bool calibrate = false;                 ///< weigh candidates against themselves without a text
  bool independent = false;               ///< any number of candidates may hold
  bool logits = false;                    ///< the head's raw outputs instead of probabilities

  /// The template, or its default, with `candidate` in it. Throws Error(usage) for one without
  /// "{}".
  std::string hypothesis(const std::string& candidate) const;
};

/// Whether a head with these labels is one of natural language inference.
bool names_entailment(const std::vector<std::string>& labels);

/// Which labels there are and how the logits of the head become one score for each; decided once
/// before the first text.
struct BERT_API LabelPlan {
  std::vector<std::string> labels;
  bool values = false;       ///< a regression: the scores are values, not probabilities
  bool logits = false;       ///< the scores are logits
  bool independent = false;  ///< any number of labels may hold
  /// Zero-shot by natural language inference (Yin et al. 2019): one for each label, put beside the
  /// text; empty: the labels are those of the head.
  std::vector<std::string> hypotheses;
  size_t entailment = 0;     ///< index of that logit
  size_t contradiction = 0;  ///< the one it is weighed against when labels are independent

  /// Labels of the head, whatever they are called.
  static LabelPlan of(const Classifier& head, bool logits);
  /// Throws Error(usage) for candidates where the head has no label that begins with "entail", for
  /// a template without candidates, and for names that are not as many as the labels; Error(data)
  /// for two labels of one name.
  static LabelPlan make(const Classifier& head, const LabelChoice& choice);
  /// The plan of candidates that a masked language model weighs. Throws Error(usage) for fewer than
  /// two and for what is not of such.
  static LabelPlan of_candidates(const LabelChoice& choice);

  /// Throws Error(usage) for a candidate of mostly unknown tokens: the model reads all such alike.
  void check_candidates(const Tokenizer& tokenizer, Tokenizer::Scratch& scratch) const;
  /// The texts that the model reads for a text: itself, or beside each hypothesis.
  std::vector<Text> questions(const Text& text) const;
};

/// When a label holds.
struct LabelRule {
  std::optional<double> threshold = {};
  bool several = false;  ///< independent labels are told apart at one half without a threshold
};

/// What a text is given by its scores [labels]: `order` is all labels, best first, or empty if a
/// score is no number; `chosen` are those of them that it gets.
BERT_API void choose_labels(const LabelPlan& plan, const LabelRule& rule,
                            std::span<const float> scores, std::vector<size_t>& order,
                            std::vector<size_t>& chosen);

/// The scores of texts, one for each label.
struct LabelScores {
  std::vector<float> values = {};  ///< [texts, labels]
  size_t labels = 0;

  std::span<const float> operator[](size_t text) const {
    return {values.data() + text * labels, labels};
  }
  std::span<float> operator[](size_t text) { return {values.data() + text * labels, labels}; }
};

/// Labels texts with the scores of transformers' text-classification (or zero-shot-classification)
/// pipeline. The score of a text in several windows is the mean of theirs.
///
/// Thread rule: const; each thread has a Batcher.
class BERT_API LabelPredictor {
 public:
  /// Opens the head of the model, which it borrows. Throws Error as Classifier::open and
  /// LabelPlan::make.
  LabelPredictor(const Model& model, const LabelChoice& choice)
      : model_(model), head_(Classifier::open(model)), plan_(LabelPlan::make(head_, choice)) {}
  /// With the labels of the head, whatever they are called. `logits`: as scores.
  explicit LabelPredictor(const Model& model, bool logits = false)
      : model_(model), head_(Classifier::open(model)), plan_(LabelPlan::of(head_, logits)) {}

  const LabelPlan& plan() const { return plan_; }
  const Classifier& head() const { return head_; }

  /// The scores of texts 0 .. texts - 1, whose questions() the sequences are.
  void predict(const Sequences& sequences, size_t texts, Batcher& batcher, LabelScores& out) const;

 private:
  void weigh_hypotheses(std::span<const float> refutation, LabelScores& out) const;

  const Model& model_;
  const Classifier head_;
  const LabelPlan plan_;
};

}  // namespace bert
