#include "metrics/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "metrics/value_outcomes.h"

namespace bert {
namespace {

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// All counts of a table of labels, and the means over the labels that occur.
struct LabelSums {
  LabelCounts all;
  double precision = 0, recall = 0, f1 = 0;
};

LabelSums sums_of(std::span<const LabelCounts> counts) {
  LabelSums sums;
  double occurring = 0;
  for (const LabelCounts& c : counts) {
    sums.all += c;
    if (c.gold + c.predicted == 0) continue;
    sums.precision += c.precision();
    sums.recall += c.recall();
    sums.f1 += c.f1();
    ++occurring;
  }
  for (double* sum : {&sums.precision, &sums.recall, &sums.f1}) *sum = ratio(*sum, occurring);
  return sums;
}

}  // namespace

double LabelCounts::precision() const {
  return ratio(static_cast<double>(true_positives), static_cast<double>(predicted));
}
double LabelCounts::recall() const {
  return ratio(static_cast<double>(true_positives), static_cast<double>(gold));
}
double LabelCounts::f1() const {
  return ratio(2 * static_cast<double>(true_positives), static_cast<double>(predicted + gold));
}

LabelMeans label_means(std::span<const LabelCounts> counts) {
  const LabelSums sums = sums_of(counts);
  return {sums.f1, sums.all.f1()};
}

std::string label_table(std::span<const std::string> names, std::span<const LabelCounts> counts) {
  std::string text;
  const auto add = [&](std::string_view name, double p, double r, double f1, uint64_t support) {
    text += fmt::format("{}\t{:.6g}\t{:.6g}\t{:.6g}\t{}\n", name, p, r, f1, support);
  };
  for (size_t i = 0; i < names.size(); ++i) {
    const LabelCounts& c = counts[i];
    add(names[i], c.precision(), c.recall(), c.f1(), c.gold);
  }
  const LabelSums sums = sums_of(counts);
  add("macro", sums.precision, sums.recall, sums.f1, sums.all.gold);
  add("micro", sums.all.precision(), sums.all.recall(), sums.all.f1(), sums.all.gold);
  return text;
}

void add_label_table(JsonRow& json, std::string_view list, std::string_view key,
                     std::span<const std::string> names, std::span<const LabelCounts> counts) {
  const auto add = [&](double precision, double recall, double f1, uint64_t support) {
    json.number("precision", precision).number("recall", recall).number("f1", f1);
    json.count("support", support).end_object();
  };
  json.list(list);
  for (size_t i = 0; i < names.size(); ++i) {
    const LabelCounts& c = counts[i];
    json.object().text(key, names[i]);
    add(c.precision(), c.recall(), c.f1(), c.gold);
  }
  json.end_list();
  const LabelSums sums = sums_of(counts);
  json.object("macro");
  add(sums.precision, sums.recall, sums.f1, sums.all.gold);
  json.object("micro");
  add(sums.all.precision(), sums.all.recall(), sums.all.f1(), sums.all.gold);
}

LabelMetrics::LabelMetrics(std::vector<std::string> labels)
    : labels_(std::move(labels)), counts_(labels_.size()) {}

void LabelMetrics::add(std::span<const size_t> gold, std::span<const size_t> predicted,
                       std::span<const size_t> other) {
  const std::lock_guard lock(mutex_);
  ++records_;
  outcomes_.add(gold, predicted, other);
  size_t hits = 0;
  for (const size_t label : gold) ++counts_[label].gold;
  for (const size_t label : predicted) {
    ++counts_[label].predicted;
    if (std::find(gold.begin(), gold.end(), label) == gold.end()) continue;
    ++counts_[label].true_positives;
    ++hits;
  }
  if (hits == gold.size() && hits == predicted.size()) ++exact_;
  if (gold.size() == 1 && predicted.size() == 1) ++confusions_[{gold[0], predicted[0]}];
}

double LabelMetrics::accuracy() const {
  const std::lock_guard lock(mutex_);
  return ratio(static_cast<double>(exact_), static_cast<double>(records_));
}

double LabelMetrics::micro_f1() const {
  const std::lock_guard lock(mutex_);
  LabelCounts sum;
  for (const LabelCounts& counts : counts_) sum += counts;
  return sum.f1();
}

double LabelMetrics::macro_f1() const {
  const std::lock_guard lock(mutex_);
  return label_means(counts_).macro_f1;
}

double LabelMetrics::mcc() const {
  const std::lock_guard lock(mutex_);
  const auto s = static_cast<double>(records_);
  double correct = 0, crossed = 0, trues = 0, predictions = 0;
  for (const LabelCounts& counts : counts_) {
    const auto t = static_cast<double>(counts.gold), p = static_cast<double>(counts.predicted);
    correct += static_cast<double>(counts.true_positives);
    crossed += t * p;
    trues += t * t;
    predictions += p * p;
  }
  const double square = (s * s - predictions) * (s * s - trues);
  return square > 0 ? (correct * s - crossed) / std::sqrt(square) : 0;
}

std::string LabelMetrics::confusions() const {
  constexpr size_t kLabels = 20, kPairs = 20;
  const std::lock_guard lock(mutex_);
  std::string text;
  if (labels_.size() <= kLabels) {
    text = "gold\\said";
    for (const std::string& label : labels_) text += '\t' + label;
    for (size_t gold = 0; gold < labels_.size(); ++gold) {
      text += '\n' + labels_[gold];
      for (size_t said = 0; said < labels_.size(); ++said) {
        const auto found = confusions_.find({gold, said});
        text += fmt::format("\t{}", found == confusions_.end() ? 0 : found->second);
      }
    }
    return text + '\n';
  }
  std::vector<std::pair<std::pair<size_t, size_t>, uint64_t>> wrong;
  std::copy_if(confusions_.begin(), confusions_.end(), std::back_inserter(wrong),
               [](const auto& pair) { return pair.first.first != pair.first.second; });
  std::stable_sort(wrong.begin(), wrong.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  wrong.resize(std::min(wrong.size(), kPairs));
  text = "gold\tsaid\trecords\n";
  for (const auto& [pair, count] : wrong) {
    text += fmt::format("{}\t{}\t{}\n", labels_[pair.first], labels_[pair.second], count);
  }
  return text;
}

std::string LabelMetrics::report() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("records\t{}\naccuracy\t{}\nlabel\tprecision\trecall\tf1\tsupport\n", records_,
                     number_text(static_cast<double>(exact_) / static_cast<double>(records_))) +
         label_table(labels_, counts_);
}

std::string LabelMetrics::json(bool confusions, const Doubt& doubt,
                               const Calibration* calibration) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  JsonRow json(text);
  json.object().count("records", records_);
  json.number("accuracy", static_cast<double>(exact_) / static_cast<double>(records_));
  add_label_table(json, "labels", "label", labels_, counts_);
  if (confusions) {
    json.list("confusions");
    for (const auto& [pair, count] : confusions_) {
      json.object().text("gold", labels_[pair.first]).text("said", labels_[pair.second]);
      json.count("records", count).end_object();
    }
    json.end_list();
  }
  doubt.add_to(json);
  if (calibration) calibration->add_to(json);
  json.end_object();
  return text;
}

Doubt LabelMetrics::doubt(const Resampling& how) const {
  const std::lock_guard lock(mutex_);
  return {outcomes_.intervals(labels_.size(), how), {}, {}};
}

Doubt LabelMetrics::against(const Resampling& how) const {
  const std::lock_guard lock(mutex_);
  return {outcomes_.intervals(labels_.size(), how), outcomes_.differences(labels_.size(), how),
          outcomes_.discordant()};
}

void ValueMetrics::add(uint64_t record, double gold, double predicted, double other) {
  const std::lock_guard lock(mutex_);
  pairs_.push_back({record, gold, predicted, other});
}

/// The values in input order, so that sums do not depend on the threads.
ValueMetrics::Columns ValueMetrics::columns() const {
  const std::lock_guard lock(mutex_);
  std::vector<Pair> pairs = pairs_;
  std::sort(pairs.begin(), pairs.end(),
            [](const Pair& a, const Pair& b) { return a.record < b.record; });
  Columns columns;
  for (const Pair& p : pairs) {
    columns.gold.push_back(p.gold);
    columns.predicted.push_back(p.predicted);
    columns.other.push_back(p.other);
  }
  return columns;
}

double ValueMetrics::spearman() const {
  const auto [gold, predicted, other] = columns();
  return pearson(ranks(gold), ranks(predicted));
}

std::vector<std::pair<const char*, double>> ValueMetrics::measures() const {
  const auto [gold, predicted, other] = columns();
  double squares = 0;
  for (size_t i = 0; i < gold.size(); ++i) {
    squares += (gold[i] - predicted[i]) * (gold[i] - predicted[i]);
  }
  return {{"pearson", pearson(gold, predicted)},
          {"spearman", spearman()},
          {"mse", squares / static_cast<double>(gold.size())}};
}

std::string ValueMetrics::report() const {
  std::string text = fmt::format("records\t{}\n", columns().gold.size());
  for (const auto& [name, value] : measures()) {
    text += fmt::format("{}\t{}\n", name, number_text(value));
  }
  return text;
}

std::string ValueMetrics::json(const Doubt& doubt) const {
  std::string text;
  JsonRow json(text);
  json.object().count("records", columns().gold.size());
  for (const auto& [name, value] : measures()) json.number(name, value);
  doubt.add_to(json);
  json.end_object();
  return text;
}

Doubt ValueMetrics::doubt(const Resampling& how) const {
  const auto [gold, predicted, other] = columns();
  return value_doubt(gold, predicted, how);
}

Doubt ValueMetrics::against(const Resampling& how) const {
  const auto [gold, predicted, other] = columns();
  return value_doubt(gold, predicted, other, how);
}

double pearson(std::span<const double> x, std::span<const double> y) {
  const double n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (xx == 0 || yy == 0) return std::numeric_limits<double>::quiet_NaN();
  return xy / std::sqrt(xx * yy);
}

std::vector<double> ranks(std::span<const double> x) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); })) {
    return std::vector<double>(x.size(), nan);  // no value can be ranked against a NaN
  }
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  std::vector<double> out(x.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && x[order[end]] == x[order[begin]]) ++end;
    const double mean = static_cast<double>(begin + end + 1) / 2;  // the mean of begin + 1 .. end
    for (size_t i = begin; i < end; ++i) out[order[i]] = mean;
    begin = end;
  }
  return out;
}

}  // namespace bert
