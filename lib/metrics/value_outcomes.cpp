#include "metrics/value_outcomes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "metrics/metrics.h"

namespace bert {
namespace {

constexpr std::array<const char*, 3> kNames = {"pearson", "spearman", "mse"};
using Values = std::array<double, 3>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Sums of values of a sample less a constant, from which its correlation follows in one pass.
struct Moments {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  void add(double times, double dx, double dy) {
    x += times * dx;
    y += times * dy;
    xx += times * dx * dx;
    yy += times * dy * dy;
    xy += times * dx * dy;
  }
  /// Pearson's correlation of `n` values.
  double correlation(double n) const {
    return (xy - x * y / n) / std::sqrt((xx - x * x / n) * (yy - y * y / n));
  }
};

std::vector<double> less_mean(std::span<const double> values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) /
                      static_cast<double>(std::max<size_t>(values.size(), 1));
  std::vector<double> centered(values.begin(), values.end());
  for (double& value : centered) value -= mean;
  return centered;
}

/// The indices of values in ascending order.
std::vector<uint32_t> ascending(std::span<const double> values) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  return order;
}

/// Values in ascending order, for ranks less their mean: equal values get the mean of their ranks.
class Ranking {
 public:
  explicit Ranking(std::span<const double> values) : order_(ascending(values)) {
    for (size_t i = 1; i <= order_.size(); ++i) {
      if (i == order_.size() || values[order_[i]] != values[order_[i - 1]]) ends_.push_back(i);
    }
  }
  /// Calls use(record, times, rank) for each record in ascending order, for a sample of `n`.
  /// Returns whether its values differ.
  template <typename Use>
  bool each(std::span<const uint32_t> times, double n, Use use) const {
    int64_t below = 0, most = 0;
    size_t i = 0;
    for (const size_t end : ends_) {
      int64_t tied = 0;
      for (size_t j = i; j < end; ++j) tied += times[order_[j]];
      const double rank = 0.5 * (static_cast<double>(2 * below + tied) - n);
      for (; i < end; ++i) use(order_[i], times[order_[i]], rank);
      below += tied;
      most = std::max(most, tied);
    }
    return most < below;
  }

 private:
  std::vector<uint32_t> order_;
  std::vector<size_t> ends_;  ///< where runs of equal values end
};

/// The measures of samples of predicted against gold values.
class Sampled {
 public:
  Sampled(std::span<const double> gold, std::span<const double> predicted)
      : gold_(less_mean(gold)),
        predicted_(less_mean(predicted)),
        gold_ranks_(gold),
        predicted_ranks_(predicted),
        ranks_(gold.size()) {
    for (size_t i = 0; i < gold.size(); ++i)
      squares_.push_back((gold[i] - predicted[i]) * (gold[i] - predicted[i]));
  }

  Values measure(std::span<const uint32_t> times) {
    double n = 0, squares = 0;
    Moments values, ranks;
    for (size_t i = 0; i < gold_.size(); ++i) {
      n += times[i];
      squares += times[i] * squares_[i];
      values.add(times[i], gold_[i], predicted_[i]);
    }
    const bool golds_differ = gold_ranks_.each(times, n, [&](size_t i, double t, double rank) {
      ranks_[i] = rank;
      ranks.xx += t * rank * rank;
    });
    const bool differ = predicted_ranks_.each(times, n, [&](size_t i, double t, double rank) {
      ranks.yy += t * rank * rank;
      ranks.xy += t * rank * ranks_[i];
    });
    if (std::isnan(squares)) return {kNan, kNan, kNan};
    if (!golds_differ || !differ) return {kNan, kNan, squares / n};
    return {values.correlation(n), ranks.correlation(n), squares / n};
  }

 private:
  std::vector<double> gold_, predicted_, squares_;
  Ranking gold_ranks_, predicted_ranks_;
  std::vector<double> ranks_;
};

/// The measures of two predictions that some records have exchanged, one less the other.
class Exchanged {
 public:
  Exchanged(std::span<const double> gold, std::span<const double> predicted,
            std::span<const double> other)
      : gold_(less_mean(gold)) {
    const std::vector<uint32_t> once(gold.size(), 1);
    const size_t n = gold.size();
    gold_ranks_.resize(n);
    Ranking(gold).each(once, static_cast<double>(n),
                       [&](size_t i, double, double rank) { gold_ranks_[i] = rank; });
    std::vector<double> both(predicted.begin(), predicted.end());
    both.insert(both.end(), other.begin(), other.end());
    const std::vector<double> centered = less_mean(both);
    for (const uint32_t at : ascending(both)) {
      const size_t record = at % n;
      const double error = gold[record] - both[at];
      values_.push_back(
          {static_cast<uint32_t>(record), at >= n, both[at], centered[at], error * error});
    }
  }

  Values difference(std::span<const uint32_t> swapped) const {
    Side sides[2];
    const auto n = static_cast<double>(gold_.size());
    for (size_t begin = 0, end; begin < values_.size(); begin = end) {
      for (end = begin; end < values_.size() && values_[end].value == values_[begin].value; ++end)
        ++sides[side(values_[end], swapped)].tied;
      for (Side& s : sides) s.rank = 0.5 * (static_cast<double>(2 * s.below + s.tied) - n);
      for (size_t i = begin; i < end; ++i) {
        const Value& v = values_[i];
        Side& s = sides[side(v, swapped)];
        s.squares += v.square;
        s.values.add(1, gold_[v.record], v.centered);
        s.ranks.add(1, gold_ranks_[v.record], s.rank);
      }
      for (Side& s : sides) {
        s.constant = s.constant || s.tied == static_cast<int64_t>(gold_.size());
        s.below += std::exchange(s.tied, 0);
      }
    }
    const double mse = (sides[0].squares - sides[1].squares) / n;
    if (sides[0].constant || sides[1].constant) return {kNan, kNan, mse};
    return {sides[0].values.correlation(n) - sides[1].values.correlation(n),
            sides[0].ranks.correlation(n) - sides[1].ranks.correlation(n), mse};
  }

 private:
  struct Value {
    uint32_t record;
    bool other;
    double value, centered, square;
  };
  struct Side {
    int64_t below = 0, tied = 0;
    bool constant = false;
    double rank = 0, squares = 0;
    Moments values, ranks;
  };
  static size_t side(const Value& v, std::span<const uint32_t> swapped) {
    return v.other != (swapped[v.record] != 0) ? 1 : 0;
  }

  std::vector<double> gold_, gold_ranks_;
  std::vector<Value> values_;  ///< both predictions, ascending
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
  const Exchanged exchanged(gold, predicted, other);
  const auto swapped_difference = [&](auto swapped, auto values) {
    if (!known) return;
    const Values drawn = exchanged.difference(swapped);
    std::copy(drawn.begin(), drawn.end(), values.begin());
  };
  const std::vector<double> p = permutation_test(records, kNames.size(), seed, swapped_difference);
  const Values own = first.measure(once), theirs = second.measure(once);
  std::vector<MeasureDifference> differences;
  for (size_t m = 0; m < kNames.size(); ++m)
    differences.push_back({kNames[m], own[m], theirs[m], found[m], p[m]});
  return differences;
}

}  // namespace bert
