#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "io/json_row.h"
#include "metrics/calibration.h"
#include "metrics/label_outcomes.h"

namespace bert {

/// Counts of one label.
struct LabelCounts {
  uint64_t true_positives = 0;
  uint64_t predicted = 0;
  uint64_t gold = 0;
  double precision() const;
  double recall() const;
  double f1() const;
  LabelCounts& operator+=(const LabelCounts& other) {
    true_positives += other.true_positives;
    predicted += other.predicted;
    gold += other.gold;
    return *this;
  }
};
/// F1 over labels: the mean of those that occur, and that of all counts together.
struct LabelMeans {
  double macro_f1 = 0, micro_f1 = 0;
};
LabelMeans label_means(std::span<const LabelCounts> counts);
/// A row for each label: name, precision, recall, f1, support, separated by TAB. Then the rows
/// `macro` (the mean over the labels that occur) and `micro` (from the sums of all counts).
std::string label_table(std::span<const std::string> names, std::span<const LabelCounts> counts);
/// The same in JSON: a list `list` of objects, with their names as `key`, then `macro` and `micro`.
void add_label_table(JsonRow& json, std::string_view list, std::string_view key,
                     std::span<const std::string> names, std::span<const LabelCounts> counts);

/// Accuracy, precision, recall and F1 of labels against gold labels, as scikit-learn defines them.
///
/// Thread rule: add() may be called from many threads; the report does not depend on the order.
class BERT_API LabelMetrics {
 public:
  explicit LabelMetrics(std::vector<std::string> labels);

  /// Adds a record: the ids of its gold and predicted labels. Each list has one id, or any number
  /// with a multi-label model. No predicted label (nan, or below the threshold) lowers recall and
  /// accuracy, not precision. `other`: what another prediction says, for against().
  void add(std::span<const size_t> gold, std::span<const size_t> predicted,
           std::span<const size_t> other = {});
  double accuracy() const;  ///< share of records with exactly the gold labels
  double micro_f1() const;
  double macro_f1() const;  ///< the mean of the labels that occur
  /// Matthews' correlation, of records with one label; 0 if one label was true, or predicted, of
  /// all.
  double mcc() const;
  /// The confusion matrix of the records that have one label: a row for each true label, a column
  /// for each predicted one. With many labels, the pairs that are confused most often instead.
  std::string confusions() const;
  /// Lines `records N`, `accuracy A`, then the table of the labels with its header.
  std::string report() const;
  /// The report as a JSON object; `confusions`: with all pairs of the confusion matrix that occur.
  std::string json(bool confusions, const Doubt& doubt = {},
                   const Calibration* calibration = nullptr) const;
  /// The intervals of accuracy, macro_f1 and micro_f1.
  Doubt doubt(const Resampling& how) const;
  /// The same, with the differences from the other prediction and the test of McNemar.
  Doubt against(const Resampling& how) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> labels_;
  std::vector<LabelCounts> counts_;                           ///< [labels]
  std::map<std::pair<size_t, size_t>, uint64_t> confusions_;  ///< (gold, predicted): records
  LabelOutcomes outcomes_;
  uint64_t records_ = 0;
  uint64_t exact_ = 0;
};

/// Pearson's and Spearman's correlation and the mean squared error of values against gold values.
/// Keeps all values, since ranks need them: 24 bytes for each record.
///
/// Thread rule: add() may be called from many threads; the report does not depend on the order.
class BERT_API ValueMetrics {
 public:
  void add(uint64_t record, double gold, double predicted, double other = 0);
  double spearman() const;  ///< nan if undefined, as in the report
  /// Lines `records N`, `pearson R`, `spearman R`, `mse E`. A measure is `nan` if a value is nan; a
  /// correlation also if all values are equal.
  std::string report() const;
  std::string json(const Doubt& doubt = {}) const;  ///< the same as a JSON object, nan as null
  /// The intervals of the measures; `against`: with the differences from the other values.
  Doubt doubt(const Resampling& how) const;
  Doubt against(const Resampling& how) const;

 private:
  struct Pair {
    uint64_t record;
    double gold, predicted, other;
  };
  struct Columns {
    std::vector<double> gold, predicted, other;
  };
  Columns columns() const;
  /// The measures of the report, by name.
  std::vector<std::pair<const char*, double>> measures() const;

  mutable std::mutex mutex_;
  std::vector<Pair> pairs_;
};

/// Pearson's correlation of x and y; nan if all values of x, or of y, are equal.
double pearson(std::span<const double> x, std::span<const double> y);
/// Ranks from 1; equal values get the mean of their ranks.
std::vector<double> ranks(std::span<const double> x);

}  // namespace bert
