#include "metrics/value_outcomes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "metrics/metrics.h"

namespace bert {
namespace {

constexpr std::array<const char*, 3> kNames = {"pearson", "spearman", "mse"};
using Values = std::array<double, 3>;

/// Pearson's correlation of values that occur as often as `times` says; NaN if one is constant.
double weighted_pearson(std::span<const double> x, std::span<const double> y,
                        std::span<const uint32_t> times) {
  double n = 0, mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    n += times[i];
    mean_x += times[i] * x[i];
    mean_y += times[i] * y[i];
  }
  mean_x /= n;
  mean_y /= n;
  for (size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += times[i] * dx * dx;
    yy += times[i] * dy * dy;
    xy += times[i] * dx * dy;
  }
  if (xx <= 0 || yy <= 0) return std::numeric_limits<double>::quiet_NaN();
  return xy / std::sqrt(xx * yy);
}

/// Values in ascending order, and the ranks that they have in a sample.
class Ranking {
 public:
  explicit Ranking(std::span<const double> values)
      : values_(values), order_(values.size()), ranks_(values.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return values[a] < values[b]; });
  }
  /// Equal values get the mean of their ranks.
  std::span<const double> ranks(std::span<const uint32_t> times) {
    double below = 0;
    for (size_t begin = 0; begin < order_.size();) {
      size_t end = begin;
      double tied = 0;
      do {
        tied += times[order_[end++]];
      } while (end < order_.size() && values_[order_[end]] == values_[order_[begin]]);
      for (size_t i = begin; i < end; ++i) ranks_[order_[i]] = below + (tied + 1) / 2;
      below += tied;
      begin = end;
    }
    return ranks_;
  }

 private:
  std::span<const double> values_;
  std::vector<size_t> order_;
  std::vector<double> ranks_;
};

/// The measures of samples of predicted against gold values.
class Sampled {
 public:
  Sampled(std::span<const double> gold, std::span<const double> predicted)
      : gold_(gold), predicted_(predicted), gold_ranks_(gold), predicted_ranks_(predicted) {}

  Values measure(std::span<const uint32_t> times) {
    double n = 0, squares = 0;
    for (size_t i = 0; i < gold_.size(); ++i) {
      n += times[i];
      squares += times[i] * (gold_[i] - predicted_[i]) * (gold_[i] - predicted_[i]);
    }
    return {weighted_pearson(gold_, predicted_, times),
            weighted_pearson(gold_ranks_.ranks(times), predicted_ranks_.ranks(times), times),
            squares / n};
  }

 private:
  std::span<const double> gold_, predicted_;
  Ranking gold_ranks_, predicted_ranks_;
};

bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

}  // namespace

std::vector<DoubtedMeasure> value_intervals(std::span<const double> gold,
                                            std::span<const double> predicted, uint64_t seed) {
  const std::vector<uint64_t> records(has_nan(predicted) ? 0 : gold.size(), 1);
  Sampled sampled(gold, predicted);
  const std::vector<Interval> found =
      bootstrap(records, kNames.size(), seed, [&](auto times, auto values) {
        const Values measured = sampled.measure(times);
        std::copy(measured.begin(), measured.end(), values.begin());
      });
  std::vector<DoubtedMeasure> intervals;
  for (size_t m = 0; m < kNames.size(); ++m) intervals.push_back({kNames[m], found[m]});
  return intervals;
}

std::vector<MeasureDifference> value_differences(std::span<const double> gold,
                                                 std::span<const double> predicted,
                                                 std::span<const double> other, uint64_t seed) {
  const bool known = !has_nan(predicted) && !has_nan(other);
  const std::vector<uint64_t> records(known ? gold.size() : 0, 1);
  const std::vector<uint32_t> once(gold.size(), 1);
  Sampled first(gold, predicted), second(gold, other);
  const auto difference = [&](auto& own, auto& theirs, auto times, auto values) {
    const Values a = own.measure(times), b = theirs.measure(times);
    for (size_t m = 0; m < kNames.size(); ++m) values[m] = a[m] - b[m];
  };
  const std::vector<Interval> found =
      bootstrap(records, kNames.size(), seed,
                [&](auto times, auto values) { difference(first, second, times, values); });
  std::vector<double> left(gold.size()), right(gold.size());
  const auto swapped_difference = [&](auto swapped, auto values) {
    for (size_t i = 0; i < gold.size() && known; ++i) {
      left[i] = swapped[i] ? other[i] : predicted[i];
      right[i] = swapped[i] ? predicted[i] : other[i];
    }
    Sampled own(gold, left), theirs(gold, right);
    difference(own, theirs, std::span<const uint32_t>(once), values);
  };
  const std::vector<double> p = permutation_test(records, kNames.size(), seed, swapped_difference);
  const Values own = first.measure(once), theirs = second.measure(once);
  std::vector<MeasureDifference> differences;
  for (size_t m = 0; m < kNames.size(); ++m)
    differences.push_back({kNames[m], own[m], theirs[m], found[m], p[m]});
  return differences;
}

}  // namespace bert
