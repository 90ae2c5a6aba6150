#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heads/classification.h"
#include "tasks/metrics.h"
#include "tasks/task.h"

namespace bert {

/// Which labels there are and how the logits of the head become one score for each; decided once
/// before the first record.
struct BERT_API LabelPlan {
  std::vector<std::string> labels;
  bool values = false;       ///< a regression: the scores are values, not probabilities
  bool independent = false;  ///< any number of labels may hold
  /// Zero-shot by natural language inference (Yin et al. 2019): one for each label, put beside the
  /// text; empty: the labels are those of the head.
  std::vector<std::string> hypotheses;
  size_t entailment = 0;     ///< index of that logit
  size_t contradiction = 0;  ///< the one it is weighed against when labels are independent

  /// `names` empty: the head's own labels. Else, if the head has a label that begins with "entail",
  /// candidates for zero-shot with the hypothesis `hypothesis_template` ("{}" is the label); else
  /// new names of the head's labels. Throws Error(usage) if their number does not fit, or a
  /// template is given without such a label.
  static LabelPlan make(const Classifier& head, const std::vector<std::string>& names,
                        const std::string& hypothesis_template, bool independent);
};

struct ClassifyOptions {
  size_t top_k = 0;  ///< 0: label and probability of the best
  bool all = false;  ///< one probability per label, in the model's order
  std::optional<double> threshold;
  bool pair = false;
  LabelMetrics* label_metrics = nullptr;  ///< hears of each record's gold label, extra[0]
  ValueMetrics* value_metrics = nullptr;  ///< of a model with one output: of its gold value
};

/// Labels each record with the scores of transformers' text-classification (or
/// zero-shot-classification) pipeline. The score of a text in several windows is the mean of
/// theirs.
class BERT_API ClassifyWorker : public TaskWorker {
 public:
  /// Borrows everything but the options. Throws Error(usage) for windows with zero-shot.
  ClassifyWorker(const Tokenizer& tokenizer, const Model& model, const Classifier& head,
                 const LabelPlan& plan, const ClassifyOptions& classify,
                 const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  void encode_hypotheses(const Record& record, size_t owner);
  void compute_scores(size_t count);
  void weigh_hypotheses(size_t count);
  void choose(std::span<const float> scores);
  void evaluate(const Record& record, std::span<const float> scores);
  size_t gold_label(const Record& record, std::string_view name) const;
  void write(const Record& record, std::span<const float> scores, Rows& rows) const;
  void write_best(std::span<const float> scores, Rows& rows) const;
  void write_json(const Record& record, std::span<const float> scores, Rows& rows) const;

  const Classifier& head_;
  const LabelPlan& plan_;
  const ClassifyOptions classify_;
  std::vector<float> scores_;      ///< [records, labels] of the chunk
  std::vector<float> refutation_;  ///< [records, labels]: zero-shot's logits of contradiction
  std::vector<size_t> windows_;    ///< [records]
  std::vector<size_t> order_;   ///< labels of one record, best first; empty if one is not a number
  std::vector<size_t> chosen_;  ///< of them those that it is given
};

}  // namespace bert
