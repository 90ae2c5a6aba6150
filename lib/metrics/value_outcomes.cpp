#include "metrics/value_outcomes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace bert {
namespace {

constexpr std::array<const char*, 3> kNames = {"pearson", "spearman", "mse"};
using Values = std::array<double, kNames.size()>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// Sums of products of ranks and counts of so many records fit into 64 bits.
constexpr size_t kMostExact = size_t{1} << 20;

/// Sums over a sample of gold values x and predicted ones y, each less a constant.
struct Sums {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0, squares = 0;
  /// Pearson's correlation of `n` values.
  double correlation(double n) const {
    return (xy - x * y / n) / std::sqrt((xx - x * x / n) * (yy - y * y / n));
  }
};

/// Adds up use(i) for each i below `n`, in two sums side by side. What is added to which sum does
/// not depend on the instructions of the CPU.
template <size_t kSums, typename Use>
std::array<double, kSums> sums_of(size_t n, Use use) {
  constexpr size_t kLanes = 2;
  std::array<std::array<double, kLanes>, kSums> lanes{};
  const auto add = [&](size_t i, size_t lane) {
    const std::array<double, kSums> terms = use(i);
    for (size_t s = 0; s < kSums; ++s) lanes[s][lane] += terms[s];
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  if (i < n) add(i, 0);
  std::array<double, kSums> sums{};
  for (size_t s = 0; s < kSums; ++s) sums[s] = lanes[s][0] + lanes[s][1];
  return sums;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<size_t>(values.size(), 1));
}

std::vector<double> less(std::span<const double> values, double constant) {
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value -= constant;
  return result;
}

/// Values in ascending order: their indices, and where each run of equal values ends.
struct Ranking {
  std::vector<uint32_t> order, ends;

  explicit Ranking(std::span<const double> values) : order(values.size()) {
    std::iota(order.begin(), order.end(), uint32_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return values[a] < values[b]; });
    for (uint32_t i = 1; i <= order.size(); ++i) {
      if (i == order.size() || values[order[i]] != values[order[i - 1]]) ends.push_back(i);
    }
  }
};

/// Records in an order that only their values decide, so that what is drawn does not depend on the
/// order of the input.
struct Columns {
  std::vector<double> gold, predicted, other;

  Columns(std::span<const double> golds, std::span<const double> own,
          std::span<const double> theirs) {
    std::vector<std::array<double, 3>> records;
    for (size_t i = 0; i < golds.size(); ++i)
      records.push_back({golds[i], own[i], theirs.empty() ? 0 : theirs[i]});
    std::sort(records.begin(), records.end());
    for (const auto& [of_gold, of_own, of_other] : records) {
      gold.push_back(of_gold);
      predicted.push_back(of_own);
      if (!theirs.empty()) other.push_back(of_other);
    }
  }
};

/// How often a record is in a sample, and twice its gold rank there less that of the middle.
struct DrawnRecord {
  int32_t times, rank;
};

/// The measures of samples of predicted against gold values; `gold` is in ascending order.
class Sampled {
 public:
  Sampled(std::span<const double> gold, std::span<const double> predicted)
      : gold_(less(gold, mean_of(gold))),
        predicted_(less(predicted, mean_of(predicted))),
        gold_ranks_(gold),
        predicted_ranks_(predicted) {
    for (size_t i = 0; i < gold.size(); ++i)
      squares_.push_back((gold[i] - predicted[i]) * (gold[i] - predicted[i]));
  }

  /// `drawn` [records]: memory.
  Values measure(std::span<const uint32_t> times, std::span<DrawnRecord> drawn) const {
    const auto n = static_cast<double>(times.size());
    const Sums sums = sums_over(times);
    const double mse = sums.squares / n;
    const bool exact = times.size() <= kMostExact;
    const double spearman =
        exact ? rank_correlation<int64_t>(times, drawn) : rank_correlation<double>(times, drawn);
    return {std::isnan(spearman) ? kNan : sums.correlation(n), spearman, mse};
  }

 private:
  Sums sums_over(std::span<const uint32_t> times) const {
    const auto [x, y, xx, yy, xy, squares] = sums_of<6>(times.size(), [&](size_t i) {
      const auto t = static_cast<double>(static_cast<int32_t>(times[i]));
      const double tx = t * gold_[i], ty = t * predicted_[i];
      return std::array{
          tx, ty, tx * gold_[i], ty * predicted_[i], tx * predicted_[i], t * squares_[i]};
    });
    return {x, y, xx, yy, xy, squares};
  }

  /// Equal values get the mean of their ranks. The ranks, twice and less that of the middle, of n
  /// values with runs of t equal ones have the sum 0 and the sum of squares (n^3 - sum of t^3) / 3.
  /// NaN if all values of a kind are equal.
  template <typename Sum>
  double rank_correlation(std::span<const uint32_t> times, std::span<DrawnRecord> drawn) const {
    const auto n = static_cast<int32_t>(times.size());
    const Sum gold_cubes = rank_golds<Sum>(times, drawn);
    Sum cubes = 0, xy = 0;
    int32_t below = 0;
    uint32_t i = 0;
    for (const uint32_t end : predicted_ranks_.ends) {
      DrawnRecord record = drawn[predicted_ranks_.order[i]];
      Sum tied = record.times, golds = tied * record.rank;
      for (++i; i < end; ++i) {
        record = drawn[predicted_ranks_.order[i]];
        tied += record.times;
        golds += static_cast<Sum>(record.times) * record.rank;
      }
      xy += golds * (2 * below + static_cast<int32_t>(tied) - n);
      cubes += tied * tied * tied;
      below += static_cast<int32_t>(tied);
    }
    const Sum all = static_cast<Sum>(n) * n * n;
    if (cubes == all || gold_cubes == all) return kNan;
    return 3 * static_cast<double>(xy) /
           std::sqrt(static_cast<double>(all - gold_cubes) * static_cast<double>(all - cubes));
  }

  /// Ranks the records by their gold values, in which order they are. Returns the sum of t^3.
  template <typename Sum>
  Sum rank_golds(std::span<const uint32_t> times, std::span<DrawnRecord> drawn) const {
    const auto n = static_cast<int32_t>(times.size());
    Sum cubes = 0;
    int32_t below = 0;
    uint32_t i = 0;
    for (const uint32_t end : gold_ranks_.ends) {
      int32_t tied = 0;
      for (uint32_t j = i; j < end; ++j) tied += static_cast<int32_t>(times[j]);
      const int32_t rank = 2 * below + tied - n;
      for (; i < end; ++i) drawn[i] = {static_cast<int32_t>(times[i]), rank};
      cubes += static_cast<Sum>(tied) * tied * tied;
      below += tied;
    }
    return cubes;
  }

  std::vector<double> gold_, predicted_, squares_;
  Ranking gold_ranks_, predicted_ranks_;
};

/// The measures of two predictions that some records have exchanged, one less the other.
class Exchanged {
 public:
  explicit Exchanged(const Columns& c) : n_(c.gold.size()) {
    const std::vector<double> gold = less(c.gold, mean_of(c.gold));
    std::vector<double> both = c.predicted;
    both.insert(both.end(), c.other.begin(), c.other.end());
    const double middle = mean_of(both);
    for (size_t i = 0; i < n_; ++i) {
      const double x = gold[i];
      const auto add = [&](Sums& sums, double predicted) {
        const double y = predicted - middle, error = c.gold[i] - predicted;
        sums = {sums.x + x,      sums.y + y,      sums.xx + x * x,
                sums.yy + y * y, sums.xy + x * y, sums.squares + error * error};
      };
      add(own_, c.predicted[i]);
      add(other_, c.other[i]);
      Sums own, theirs;
      add(own, c.predicted[i]);
      add(theirs, c.other[i]);
      changes_.push_back(
          {theirs.y - own.y, theirs.yy - own.yy, theirs.xy - own.xy, theirs.squares - own.squares});
    }
    rank(c.gold, both);
  }

  /// `swapped[record]`: 1 if it has its predictions exchanged, else 0.
  Values difference(std::span<const uint32_t> swapped) const {
    const auto [y, yy, xy, squares] = sums_of<4>(n_, [&](size_t i) {
      const auto times = static_cast<double>(static_cast<int32_t>(swapped[i]));
      std::array<double, 4> change = changes_[i];
      for (double& value : change) value *= times;
      return change;
    });
    const Sums own = {own_.x,       own_.y + y,   own_.xx,
                      own_.yy + yy, own_.xy + xy, own_.squares + squares};
    const Sums theirs = {own_.x,         other_.y - y,   own_.xx,
                         other_.yy - yy, other_.xy - xy, other_.squares - squares};
    const auto n = static_cast<double>(n_);
    const double spearman =
        n_ <= kMostExact ? rank_difference<int64_t>(swapped) : rank_difference<double>(swapped);
    const double pearson = own.correlation(n) - theirs.correlation(n);
    return {std::isnan(spearman) ? kNan : pearson, spearman, (own.squares - theirs.squares) / n};
  }

 private:
  /// A predicted value: its record, and which prediction it is of.
  struct Value {
    uint32_t record;
    int32_t gold_rank;
    uint32_t other;
  };
  /// What is predicted after the exchange, up to some value.
  template <typename Sum>
  struct Side {
    int32_t below = 0, tied = 0;
    Sum xy = 0, golds = 0;
    double ties = 0;  ///< the sum of t^3 - t over runs of t equal values
    bool constant = false;

    void end_run(int32_t n) {
      const double t = tied;
      if (tied > 1) ties += t * t * t - t;
      constant = constant || tied == n;
      xy += golds * (2 * below + tied - n);
      below += std::exchange(tied, 0);
      golds = 0;
    }
    double correlation(double gold_squares, double n) const {
      return static_cast<double>(xy) / std::sqrt(gold_squares * ((n * n * n - n - ties) / 3));
    }
  };

  void rank(std::span<const double> gold, std::span<const double> both) {
    std::vector<int32_t> gold_ranks(n_);
    const auto n = static_cast<int32_t>(n_);
    int32_t begin = 0;
    for (const uint32_t run : Ranking(gold).ends) {  // which is in order
      const auto end = static_cast<int32_t>(run);
      for (int32_t i = begin; i < end; ++i) {
        gold_ranks[static_cast<size_t>(i)] = begin + end - n;
        gold_squares_ += static_cast<double>(begin + end - n) * (begin + end - n);
      }
      begin = end;
    }
    Ranking ranking(both);
    ends_ = std::move(ranking.ends);
    for (const uint32_t at : ranking.order) {
      const auto record = static_cast<uint32_t>(at % n_);
      values_.push_back({record, gold_ranks[record], at >= n_});
    }
  }

  template <typename Sum>
  double rank_difference(std::span<const uint32_t> swapped) const {
    const auto n = static_cast<int32_t>(n_);
    std::array<Side<Sum>, 2> sides;
    int32_t below = 0;  // of the first side
    Sum all = 0, second = 0;
    uint32_t i = 0;
    for (const uint32_t end : ends_) {
      if (end == i + 1) {
        const Value v = values_[i];
        const auto side = static_cast<int32_t>(v.other ^ swapped[v.record]);
        const int32_t before = below + side * (static_cast<int32_t>(i) - 2 * below);
        const Sum product = static_cast<Sum>(v.gold_rank) * (2 * before + 1 - n);
        all += product;
        second += static_cast<Sum>(side) * product;
        below += 1 - side;
        ++i;
        continue;
      }
      sides[0].below = below;
      sides[1].below = static_cast<int32_t>(i) - below;
      for (; i < end; ++i) {
        Side<Sum>& side = sides[values_[i].other ^ swapped[values_[i].record]];
        ++side.tied;
        side.golds += values_[i].gold_rank;
      }
      for (Side<Sum>& side : sides) side.end_run(n);
      below = sides[0].below;
    }
    if (sides[0].constant || sides[1].constant || gold_squares_ == 0) return kNan;
    sides[0].xy += all - second;
    sides[1].xy += second;
    return sides[0].correlation(gold_squares_, n) - sides[1].correlation(gold_squares_, n);
  }

  const size_t n_;
  Sums own_, other_;
  std::vector<std::array<double, 4>> changes_;  ///< [records] y, yy, xy, squares after an exchange
  double gold_squares_ = 0;                     ///< the sum of the squares of the gold ranks
  std::vector<uint32_t> ends_;                  ///< where runs of equal values end
  std::vector<Value> values_;                   ///< both predictions, ascending
};

bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

std::vector<DoubtedMeasure> named(std::span<const Interval> found) {
  std::vector<DoubtedMeasure> intervals;
  for (size_t m = 0; m < kNames.size(); ++m) intervals.push_back({kNames[m], found[m]});
  return intervals;
}

/// The measures as they are; NaN if a value is.
Values measured(std::span<const double> gold, std::span<const double> predicted) {
  if (has_nan(predicted)) return {kNan, kNan, kNan};
  const Columns c(gold, predicted, {});
  std::vector<DrawnRecord> drawn(gold.size());
  return Sampled(c.gold, c.predicted).measure(std::vector<uint32_t>(gold.size(), 1), drawn);
}

/// Intervals of the measures of one prediction.
std::vector<Interval> intervals_of(const Columns& c, const Resampling& how) {
  const Sampled sampled(c.gold, c.predicted);
  const std::vector<uint64_t> records(c.gold.size(), 1);
  return bootstrap(
      records, kNames.size(), how,
      [&, drawn = std::vector<DrawnRecord>(records.size())](auto times, auto values) mutable {
        const auto found = sampled.measure(times, drawn);
        std::copy(found.begin(), found.end(), values.begin());
      });
}

/// Intervals of the measures of a prediction, then of what they are above those of the other.
std::vector<Interval> paired_intervals(const Columns& c, const Resampling& how) {
  const Sampled first(c.gold, c.predicted), second(c.gold, c.other);
  const std::vector<uint64_t> records(c.gold.size(), 1);
  return bootstrap(
      records, 2 * kNames.size(), how,
      [&, drawn = std::vector<DrawnRecord>(records.size())](auto times, auto values) mutable {
        const Values own = first.measure(times, drawn), theirs = second.measure(times, drawn);
        for (size_t m = 0; m < own.size(); ++m) {
          values[m] = own[m];
          values[own.size() + m] = own[m] - theirs[m];
        }
      });
}

}  // namespace

Doubt value_doubt(std::span<const double> gold, std::span<const double> predicted,
                  const Resampling& how) {
  if (has_nan(predicted))
    return {named(std::vector<Interval>(kNames.size(), {kNan, kNan})), {}, {}};
  return {named(intervals_of(Columns(gold, predicted, {}), how)), {}, {}};
}

Doubt value_doubt(std::span<const double> gold, std::span<const double> predicted,
                  std::span<const double> other, const Resampling& how) {
  std::vector<Interval> found(2 * kNames.size(), {kNan, kNan});
  std::vector<double> p(kNames.size(), kNan);
  if (!has_nan(predicted) && !has_nan(other)) {
    const Columns c(gold, predicted, other);
    found = paired_intervals(c, how);
    const Exchanged exchanged(c);
    p = permutation_test(std::vector<uint64_t>(gold.size(), 1), kNames.size(), how,
                         [&](auto swapped, auto values) {
                           const auto change = exchanged.difference(swapped);
                           std::copy(change.begin(), change.end(), values.begin());
                         });
  }
  Doubt doubt = {
      has_nan(other) ? value_doubt(gold, predicted, how).intervals : named(found), {}, {}};
  const Values own = measured(gold, predicted), theirs = measured(gold, other);
  for (size_t m = 0; m < kNames.size(); ++m)
    doubt.differences.push_back({kNames[m], own[m], theirs[m], found[kNames.size() + m], p[m]});
  return doubt;
}

}  // namespace bert
