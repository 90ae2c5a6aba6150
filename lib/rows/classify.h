#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/export.h"
#include "metrics/calibration.h"
#include "metrics/metrics.h"
#include "predict/cloze.h"
#include "predict/labels.h"
#include "rows/task_worker.h"

namespace bert {

struct ClassifyOptions {
  size_t top_k = 0;  ///< 0: label and probability of the best
  bool all = false;  ///< one probability per label, in the model's order
  LabelRule rule;
  bool pair = false;

  /// Names of the columns of the rows.
  BERT_API std::vector<std::string> columns(const LabelPlan& plan) const;
};

/// Gets what each record is given, once: scores [labels], and the labels chosen. Called by several
/// threads.
using LabelSink = std::function<void(const Record& record, std::span<const float> scores,
                                     std::span<const size_t> chosen)>;

/// Compares what records are given with their gold labels, extra[0]; of one label, with its gold
/// value.
class BERT_API GoldLabels {
 public:
  explicit GoldLabels(const LabelPlan& plan) : plan_(plan), labels_(plan.labels) {}
  bool of_values() const { return plan_.labels.size() == 1; }
  const LabelMetrics& labels() const { return labels_; }
  const ValueMetrics& values() const { return values_; }
  const Calibration& calibration() const { return calibration_; }
  /// Whether extra[1] has what another prediction says.
  void set_against(bool against) { against_ = against; }
  /// Throws Error(data) naming the record for a label that there is not.
  void add(const Record& record, std::span<const float> scores, std::span<const size_t> chosen);

 private:
  size_t label(const Record& record, std::string_view name) const;
  std::vector<size_t> labels_in(const Record& record, std::string_view field) const;
  std::vector<size_t> other_labels(const Record& record) const;
  void add_value(const Record& record, double predicted);

  const LabelPlan& plan_;
  bool against_ = false;
  Calibration calibration_;
  LabelMetrics labels_;
  ValueMetrics values_;
};

/// A row: what a record is given.
struct LabelRow {
  const LabelPlan& plan;
  const ClassifyOptions& classify;
  std::span<const float> scores = {};  ///< [labels]
  std::vector<size_t> order = {};      ///< labels, best first; empty if a score is not a number
  std::vector<size_t> chosen = {};     ///< labels that the record is given

  BERT_API void cells(Cells& c) const;

 private:
  void all(Cells& c) const;
  void first(Cells& c) const;
  void best(Cells& c) const;
  void members(Cells& c, JsonRow& json) const;
  void score(Cells& c, std::string_view name, float value) const;
  /// Whether the best label reaches the threshold; without one, chosen may lack it all the same.
  bool reached() const { return !chosen.empty() || !classify.rule.threshold; }
};

/// Chooses labels by scores that a derived class computes, and writes the rows.
class BERT_API LabelWorker : public TaskWorker {
 public:
  void run(std::span<const Record> records, Rows& rows) override;

 protected:
  /// Borrows the plan. Throws Error(usage) for options that the plan has no labels for.
  LabelWorker(const Tokenizer& tokenizer, const LabelPlan& plan, const ClassifyOptions& classify,
              const TaskOptions& options, LabelSink sink);
  /// Sets scores_ of the records.
  virtual void score(std::span<const Record> records) = 0;

  const LabelPlan& plan_;
  const ClassifyOptions classify_;
  LabelScores scores_;  ///< scores of the chunk's records

 private:
  const LabelSink sink_;
  LabelRow row_;
};

/// Labels each record by the model's head.
class BERT_API ClassifyWorker : public LabelWorker {
 public:
  /// Borrows tokenizer and predictor. Throws Error(usage) for windows with zero-shot.
  ClassifyWorker(const Tokenizer& tokenizer, const LabelPredictor& predictor,
                 const ClassifyOptions& classify, const TaskOptions& options, LabelSink sink = {});

 protected:
  void score(std::span<const Record> records) override;

 private:
  const LabelPredictor& predictor_;
};

/// Labels each record by the words that a masked language model expects.
class BERT_API ClozeWorker : public LabelWorker {
 public:
  /// Borrows everything but the options. Throws Error(usage) for windows.
  ClozeWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
              const LabelPlan& plan, const ClozePlan& cloze, const ClassifyOptions& classify,
              const TaskOptions& options, LabelSink sink = {});
  void use_team(Team* team) override { predictor_.use_team(team); }

 protected:
  void score(std::span<const Record> records) override;

 private:
  TextReader short_reader_;
  ClozePredictor predictor_;
};

}  // namespace bert
