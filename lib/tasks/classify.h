#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/export.h"
#include "heads/classification.h"
#include "metrics/metrics.h"
#include "tasks/task.h"

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

struct ClassifyOptions;

/// Whether a head with these labels is one of natural language inference.
bool names_entailment(const std::vector<std::string>& labels);

/// Which labels there are and how the logits of the head become one score for each; decided once
/// before the first record.
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

  /// Throws Error(usage) for candidates where the head has no label that begins with "entail", for
  /// a template without candidates, and for names that are not as many as the labels.
  static LabelPlan make(const Classifier& head, const LabelChoice& choice);
  /// Of candidates that a masked language model weighs. Throws Error(usage) for fewer than two and
  /// for what is not of such.
  static LabelPlan of_candidates(const LabelChoice& choice);
  /// Names of the columns of its rows.
  std::vector<std::string> columns(const ClassifyOptions& classify) const;
};

struct ClassifyOptions {
  size_t top_k = 0;  ///< 0: label and probability of the best
  bool all = false;  ///< one probability per label, in the model's order
  std::optional<double> threshold;
  bool pair = false;
  LabelMetrics* label_metrics = nullptr;  ///< hears of each record's gold label, extra[0]
  ValueMetrics* value_metrics = nullptr;  ///< of a model with one output: of its gold value
};

/// What a text is given by its scores [labels]: `order` is all labels, best first, or empty if a
/// score is no number; `chosen` are those of them that it gets.
BERT_API void choose_labels(const LabelPlan& plan, const ClassifyOptions& options,
                            std::span<const float> scores, std::vector<size_t>& order,
                            std::vector<size_t>& chosen);

/// Chooses labels by scores that a derived class computes, counts how often they are right, and
/// writes the rows.
class BERT_API LabelWorker : public TaskWorker {
 public:
  void run(std::span<const Record> records, Rows& rows) override;

 protected:
  /// Borrows all but the options. Throws Error(usage) for options that the plan has no labels for.
  LabelWorker(const Tokenizer& tokenizer, const Model& model, const LabelPlan& plan,
              const ClassifyOptions& classify, const TaskOptions& options);
  /// Sets scores_ [records, labels].
  virtual void score(std::span<const Record> records) = 0;

  const LabelPlan& plan_;
  const ClassifyOptions classify_;
  std::vector<float> scores_;  ///< [records, labels] of the chunk

 private:
  void evaluate(const Record& record, std::span<const float> scores);
  size_t gold_label(const Record& record, std::string_view name) const;
  void write(const Record& record, std::span<const float> scores, Rows& rows) const;
  void write_score(float score, Rows& rows) const;
  void write_best(std::span<const float> scores, Rows& rows) const;
  /// Whether the best label reaches the threshold; with `label_metrics`, chosen_ has one without
  /// it.
  bool reached() const { return !chosen_.empty() || !classify_.threshold; }
  void write_json(const Record& record, std::span<const float> scores, Rows& rows) const;
  void write_json_best(std::span<const float> scores, JsonRow& json) const;
  void write_json_score(float score, JsonRow& json) const;

  std::vector<size_t> order_;   ///< labels of one record, best first; empty if one is not a number
  std::vector<size_t> chosen_;  ///< of them those that it is given
};

/// Labels each record with the scores of transformers' text-classification (or
/// zero-shot-classification) pipeline. The score of a text in several windows is the mean of
/// theirs.
class BERT_API ClassifyWorker : public LabelWorker {
 public:
  /// Borrows everything but the options. Throws Error(usage) for windows with zero-shot.
  ClassifyWorker(const Tokenizer& tokenizer, const Model& model, const Classifier& head,
                 const LabelPlan& plan, const ClassifyOptions& classify,
                 const TaskOptions& options);

 protected:
  void score(std::span<const Record> records) override;

 private:
  void require_known(const std::string& candidate);
  void encode_hypotheses(const Record& record, size_t owner);
  void compute_scores(size_t count);
  void weigh_hypotheses(size_t count);

  const Classifier& head_;
  std::vector<float> refutation_;  ///< [records, labels]: zero-shot's logits of contradiction
  std::vector<size_t> windows_;    ///< [records]
};

}  // namespace bert
