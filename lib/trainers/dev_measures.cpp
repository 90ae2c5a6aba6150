#include "trainers/dev_measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/output_file.h"

namespace bert {

std::vector<std::string> measures_of(HeadKind task, LabelKind kind) {
  if (task == HeadKind::tokens) return {"entity_f1", "accuracy", "loss"};
  if (task == HeadKind::spans) return {"answer_f1", "loss"};
  if (kind == LabelKind::number) return {"spearman", "loss"};
  if (kind == LabelKind::several) return {"micro_f1", "macro_f1", "accuracy", "loss"};
  return {"accuracy", "macro_f1", "mcc", "loss"};
}

std::string chosen_measure(std::string_view name, std::span<const std::string> measures) {
  if (name.empty()) return measures.front();
  for (const std::string& measure : measures) {
    if (measure == name || (name == "f1" && measure.ends_with("_f1"))) return measure;
  }
  throw Error::of_field("metric", fmt::format("found '{}', wants {} for this task", printable(name),
                                              fmt::join(measures, ", ")));
}

bool lower_is_better(std::string_view measure) { return measure == "loss"; }

void ConfusionCounts::add(std::span<const size_t> gold, std::span<const size_t> predicted) {
  ++records_;
  exact_ += std::equal(gold.begin(), gold.end(), predicted.begin(), predicted.end());
  for (const size_t label : gold) ++true_[label];
  for (const size_t label : predicted) {
    ++predicted_[label];
    right_[label] += std::find(gold.begin(), gold.end(), label) != gold.end();
  }
}

double ConfusionCounts::macro_f1() const {
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < true_.size(); ++i) {
    const auto both = static_cast<double>(true_[i] + predicted_[i]);
    if (both == 0) continue;
    sum += 2 * static_cast<double>(right_[i]) / both;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

double ConfusionCounts::mcc() const {
  const auto s = static_cast<double>(records_);
  double correct = 0, crossed = 0, trues = 0, predictions = 0;
  for (size_t i = 0; i < true_.size(); ++i) {
    const auto t = static_cast<double>(true_[i]), p = static_cast<double>(predicted_[i]);
    correct += static_cast<double>(right_[i]);
    crossed += t * p;
    trues += t * t;
    predictions += p * p;
  }
  const double square = (s * s - predictions) * (s * s - trues);
  return square > 0 ? (correct * s - crossed) / std::sqrt(square) : 0;
}

double ConfusionCounts::accuracy() const {
  return records_ > 0 ? static_cast<double>(exact_) / static_cast<double>(records_) : 0;
}

void write_dev_lines(std::vector<DevLine> lines, std::span<const std::string> texts,
                     const std::string& path) {
  std::stable_sort(lines.begin(), lines.end(),
                   [](const DevLine& a, const DevLine& b) { return a.loss > b.loss; });
  std::string rows = "loss\ttrue\tpredicted\ttext\n";
  std::vector<bool> written(texts.size(), false);
  for (const DevLine& line : lines) {
    if (written[line.origin]) continue;
    written[line.origin] = true;
    std::string text = texts[line.origin];
    std::replace(text.begin(), text.end(), '\n', ' ');
    rows += fmt::format("{:.6g}\t{}\t{}\t{}\n", line.loss, line.truth, line.predicted, text);
  }
  write_whole_file(path, rows);
}

}  // namespace bert
