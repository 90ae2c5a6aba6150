#include "metrics/label_outcomes.h"

#include <algorithm>
#include <array>

#include "metrics/metrics.h"

namespace bert {
namespace {

constexpr std::array<const char*, 3> kNames = {"accuracy", "macro_f1", "micro_f1"};

using Counts = std::vector<LabelCounts>;  ///< [labels], memory of a sample

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// The three measures, from the counts of a sample.
void measure(std::span<const LabelCounts> counts, uint64_t exact, uint64_t records,
             std::span<double> values) {
  const LabelMeans means = label_means(counts);
  values[0] = ratio(static_cast<double>(exact), static_cast<double>(records));
  values[1] = means.macro_f1;
  values[2] = means.micro_f1;
}

/// What records with the same gold and predicted labels add to the counts.
class Added {
 public:
  Added(std::span<const size_t> gold, std::span<const size_t> predicted) {
    size_t hits = 0;
    for (const size_t label : gold) ++of(label).gold;
    for (const size_t label : predicted) {
      LabelCounts& counts = of(label);
      ++counts.predicted;
      if (counts.gold == 0) continue;
      ++counts.true_positives;
      ++hits;
    }
    exact_ = hits == gold.size() && hits == predicted.size();
  }
  /// Adds `times` such records. Returns how many of them are exact.
  uint64_t add_to(std::span<LabelCounts> sums, uint64_t times) const {
    for (const auto& [label, n] : counts_)
      sums[label] += {times * n.true_positives, times * n.predicted, times * n.gold};
    return exact_ ? times : 0;
  }

 private:
  LabelCounts& of(size_t label) {
    for (auto& [own, counts] : counts_)
      if (own == label) return counts;
    return counts_.emplace_back(label, LabelCounts{}).second;
  }
  std::vector<std::pair<size_t, LabelCounts>> counts_;
  bool exact_ = false;
};

}  // namespace

/// The outcomes side by side.
struct LabelOutcomes::Table {
  std::vector<uint64_t> records;  ///< [outcomes]
  std::vector<Added> own, other;  ///< [outcomes] of the prediction, and of the other

  /// Measures of records of which times(k) are of outcome k, and of which others(k) take the other
  /// prediction.
  template <typename Times, typename Others>
  void measure(const Times& times, const Others& others_of, Counts& sums,
               std::span<double> values) const {
    std::fill(sums.begin(), sums.end(), LabelCounts{});
    uint64_t exact = 0, sum = 0;
    for (size_t k = 0; k < records.size(); ++k) {
      const uint64_t all = times(k), theirs = others_of(k);
      sum += all;
      if (all > theirs) exact += own[k].add_to(sums, all - theirs);
      if (theirs > 0) exact += other[k].add_to(sums, theirs);
    }
    bert::measure(sums, exact, sum, values);
  }

  /// Measures of the prediction less those of the other.
  template <typename Times, typename Others>
  void difference(const Times& times, const Others& others_of, Counts& sums,
                  std::span<double> values) const {
    std::array<double, 3> theirs{};
    measure(times, others_of, sums, values);
    measure(
        times, [&](size_t k) { return times(k) - others_of(k); }, sums, theirs);
    for (size_t m = 0; m < theirs.size(); ++m) values[m] -= theirs[m];
  }
};

void LabelOutcomes::add(std::span<const size_t> gold, std::span<const size_t> predicted,
                        std::span<const size_t> other) {
  const auto sorted = [](std::span<const size_t> labels) {
    std::vector<size_t> list(labels.begin(), labels.end());
    std::sort(list.begin(), list.end());
    return list;
  };
  ++outcomes_[{sorted(gold), sorted(predicted), sorted(other)}];
}

LabelOutcomes::Table LabelOutcomes::table() const {
  Table table;
  for (const auto& [outcome, records] : outcomes_) {
    table.records.push_back(records);
    table.own.emplace_back(outcome.gold, outcome.predicted);
    table.other.emplace_back(outcome.gold, outcome.other);
  }
  return table;
}

std::vector<DoubtedMeasure> LabelOutcomes::intervals(size_t labels, const Resampling& how) const {
  const Table table = this->table();
  const auto none = [](size_t) { return uint64_t{0}; };
  const std::vector<Interval> found =
      bootstrap(table.records, kNames.size(), how,
                [&, counts = Counts(labels)](auto times, auto values) mutable {
                  table.measure([&](size_t k) { return uint64_t{times[k]}; }, none, counts, values);
                });
  Counts counts(labels);
  uint64_t exact = 0, records = 0;
  for (size_t k = 0; k < table.records.size(); ++k) {
    records += table.records[k];
    exact += table.own[k].add_to(counts, table.records[k]);
  }
  return {{kNames[0], wilson(exact, records)}, {kNames[1], found[1]}, {kNames[2], found[2]}};
}

std::vector<MeasureDifference> LabelOutcomes::differences(size_t labels,
                                                          const Resampling& how) const {
  const Table table = this->table();
  const auto all = [&](size_t k) { return table.records[k]; };
  const auto none = [](size_t) { return uint64_t{0}; };
  std::array<double, 3> own{}, other{};
  Counts counts(labels);
  table.measure(all, none, counts, own);
  table.measure(all, all, counts, other);
  const std::vector<Interval> found =
      bootstrap(table.records, kNames.size(), how, [&, counts](auto times, auto values) mutable {
        table.difference([&](size_t k) { return uint64_t{times[k]}; }, none, counts, values);
      });
  const std::vector<double> p = permutation_test(
      table.records, kNames.size(), how, [&, counts](auto swapped, auto values) mutable {
        table.difference(
            all, [&](size_t k) { return uint64_t{swapped[k]}; }, counts, values);
      });
  std::vector<MeasureDifference> differences;
  for (size_t m = 0; m < kNames.size(); ++m)
    differences.push_back({kNames[m], own[m], other[m], found[m], p[m]});
  return differences;
}

std::pair<uint64_t, uint64_t> LabelOutcomes::discordant() const {
  std::pair<uint64_t, uint64_t> only{0, 0};
  for (const auto& [outcome, records] : outcomes_) {
    const bool own = outcome.predicted == outcome.gold, other = outcome.other == outcome.gold;
    if (own && !other) only.first += records;
    if (other && !own) only.second += records;
  }
  return only;
}

}  // namespace bert
