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

Spread spread_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  Spread spread;
  for (const double value : values) spread.mean += value;
  spread.mean /= n;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (n > 1) spread.deviation = std::sqrt(squares / (n - 1));
  return spread;
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
