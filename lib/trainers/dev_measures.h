#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predict/task.h"
#include "trainers/examples.h"

namespace bert {

/// The names of what a dev set may be judged by, the usual one first and `loss` last.
std::vector<std::string> measures_of(HeadKind task, LabelKind kind);
/// The one of these that a user names: `f1` is the one that ends so. Throws Error (`metric`).
std::string chosen_measure(std::string_view name, std::span<const std::string> measures);
/// Whether a lower value is better.
bool lower_is_better(std::string_view measure);

/// Counts of labels against true ones, and what scikit-learn makes of them.
class ConfusionCounts {
 public:
  explicit ConfusionCounts(size_t labels) : true_(labels), predicted_(labels), right_(labels) {}

  void add(std::span<const size_t> gold, std::span<const size_t> predicted);
  /// The mean F1 of the labels that occur.
  double macro_f1() const;
  /// Matthews' correlation; 0 if one label was true, or predicted, of all records.
  double mcc() const;
  /// The share of records with exactly the true labels.
  double accuracy() const;

 private:
  std::vector<uint64_t> true_, predicted_, right_;  ///< [labels]
  uint64_t records_ = 0, exact_ = 0;
};

/// A dev example as it went: for people.
struct DevLine {
  double loss = 0;
  size_t origin = 0;
  std::string truth, predicted;
};
/// Writes the lines, worst first, as loss, true, predicted, text. Lines of one origin are one, of
/// the largest loss. Throws Error as write_whole_file().
void write_dev_lines(std::vector<DevLine> lines, std::span<const std::string> texts,
                     const std::string& path);

}  // namespace bert
