#include "metrics/label_outcomes.h"

#include <algorithm>
#include <array>

#include "metrics/metrics.h"

namespace bert {
namespace {

constexpr std::array<const char*, 3> kNames = {"accuracy", "macro_f1", "micro_f1"};

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// The three measures, from the counts of a sample.
void measure(std::span<const LabelCounts> counts, uint64_t exact, uint64_t records,
             std::span<double> values) {
  const LabelMeans means = label_means(counts);
  values[0] = ratio(static_cast<double>(exact), static_cast<double>(records));
  values[1] = means.macro_f1;
  values[2] = means.micro_f1;
}

/// Adds `times` records with these labels. Returns whether both are equal.
bool add_labels(std::span<LabelCounts> counts, std::span<const size_t> gold,
                std::span<const size_t> predicted, uint64_t times) {
  size_t hits = 0;
  for (const size_t label : gold) counts[label].gold += times;
  for (const size_t label : predicted) {
    counts[label].predicted += times;
    if (std::find(gold.begin(), gold.end(), label) == gold.end()) continue;
    counts[label].true_positives += times;
    ++hits;
  }
  return hits == gold.size() && hits == predicted.size();
}

}  // namespace

/// The outcomes side by side, and memory for a sample's counts.
struct LabelOutcomes::Table {
  std::vector<const Outcome*> outcomes;
  std::vector<uint64_t> records;
  std::vector<LabelCounts> counts, others;

  /// Measures of records of which times(k) are of outcome k, and of which others(k) take the other
  /// prediction.
  template <typename Times, typename Others>
  void measure(const Times& times, const Others& others_of, std::vector<LabelCounts>& sums,
               std::span<double> values) const {
    std::fill(sums.begin(), sums.end(), LabelCounts{});
    uint64_t exact = 0, sum = 0;
    for (size_t k = 0; k < outcomes.size(); ++k) {
      const uint64_t all = times(k), theirs = others_of(k);
      const Outcome& o = *outcomes[k];
      sum += all;
      if (all > theirs && add_labels(sums, o.gold, o.predicted, all - theirs))
        exact += all - theirs;
      if (theirs > 0 && add_labels(sums, o.gold, o.other, theirs)) exact += theirs;
    }
    bert::measure(sums, exact, sum, values);
  }

  /// Measures of the prediction less those of the other.
  template <typename Times, typename Others>
  void difference(const Times& times, const Others& others_of, std::span<double> values) {
    std::array<double, 3> theirs{};
    measure(times, others_of, counts, values);
    measure(
        times, [&](size_t k) { return times(k) - others_of(k); }, others, theirs);
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

LabelOutcomes::Table LabelOutcomes::table(size_t labels) const {
  Table table;
  table.counts.resize(labels);
  table.others.resize(labels);
  for (const auto& [outcome, records] : outcomes_) {
    table.outcomes.push_back(&outcome);
    table.records.push_back(records);
  }
  return table;
}

std::vector<DoubtedMeasure> LabelOutcomes::intervals(size_t labels, uint64_t seed) const {
  Table table = this->table(labels);
  const auto none = [](size_t) { return uint64_t{0}; };
  const std::vector<Interval> found =
      bootstrap(table.records, kNames.size(), seed, [&](auto times, auto values) {
        table.measure([&](size_t k) { return uint64_t{times[k]}; }, none, table.counts, values);
      });
  uint64_t exact = 0, records = 0;
  for (const auto& [outcome, count] : outcomes_) {
    records += count;
    std::vector<LabelCounts> counts(labels);
    exact += add_labels(counts, outcome.gold, outcome.predicted, 1) ? count : 0;
  }
  return {{kNames[0], wilson(exact, records)}, {kNames[1], found[1]}, {kNames[2], found[2]}};
}

std::vector<MeasureDifference> LabelOutcomes::differences(size_t labels, uint64_t seed) const {
  Table table = this->table(labels);
  const auto all = [&](size_t k) { return table.records[k]; };
  const auto none = [](size_t) { return uint64_t{0}; };
  std::array<double, 3> own{}, other{};
  table.measure(all, none, table.counts, own);
  table.measure(all, all, table.counts, other);
  const std::vector<Interval> found =
      bootstrap(table.records, kNames.size(), seed, [&](auto times, auto values) {
        table.difference([&](size_t k) { return uint64_t{times[k]}; }, none, values);
      });
  const std::vector<double> p =
      permutation_test(table.records, kNames.size(), seed, [&](auto swapped, auto values) {
        table.difference(
            all, [&](size_t k) { return uint64_t{swapped[k]}; }, values);
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
