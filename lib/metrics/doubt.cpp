#include "metrics/doubt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "base/team.h"

namespace bert {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Random words of a replicate, one after the other.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t replicate)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        replicate_{static_cast<uint32_t>(replicate), static_cast<uint32_t>(replicate >> 32)} {}

  uint32_t word() {
    if (next_ == words_.size()) {
      philox4x32(counter_, replicate_, key_, words_);
      counter_ += kPhiloxBlocks;
      next_ = 0;
    }
    return words_[next_++];
  }
  /// A whole number below `n`. The bias of at most n / 2^32 is far below that of the replicates.
  size_t below(size_t n) { return static_cast<size_t>(uint64_t{word()} * n >> 32); }
  /// Throws a coin for each: 1 for heads.
  void coins(std::span<uint32_t> out) {
    for (size_t i = 0; i < out.size();) {
      uint32_t bits = word();
      for (const size_t end = std::min(out.size(), i + 32); i < end; ++i, bits >>= 1)
        out[i] = bits & 1;
    }
  }
  /// How often heads fall in `n` throws of a coin.
  uint32_t heads(uint64_t n) {
    uint32_t sum = 0;
    for (; n >= 32; n -= 32) sum += static_cast<uint32_t>(std::popcount(word()));
    if (n > 0) sum += static_cast<uint32_t>(std::popcount(word() >> (32 - n)));
    return sum;
  }
  /// How often an event of probability part / whole occurs in `n` trials: of each trial's random
  /// binary fraction, digits are drawn until one differs from that of part / whole.
  uint64_t hits(uint64_t n, uint64_t part, uint64_t whole) {
    uint64_t below = 0;
    while (n > 0 && part > 0) {
      part *= 2;
      const uint64_t zeros = heads(n);
      if (part < whole) {
        n = zeros;
      } else {
        part -= whole;
        below += zeros;
        n -= zeros;
      }
    }
    return below;
  }

 private:
  std::array<uint32_t, 2> key_, replicate_;
  uint64_t counter_ = 0;
  std::array<uint32_t, 4 * kPhiloxBlocks> words_{};
  size_t next_ = words_.size();
};

/// Whether each record is a kind of its own.
bool are_single(std::span<const uint64_t> counts) {
  return std::all_of(counts.begin(), counts.end(), [](uint64_t count) { return count == 1; });
}

/// Samples with replacement of records of kinds.
class Sampler {
 public:
  explicit Sampler(std::span<const uint64_t> counts) {
    for (const uint64_t count : counts) below_.push_back(below_.back() + count);
    if (splits() || are_single(counts)) return;
    for (size_t k = 0; k < counts.size(); ++k)
      kind_of_.insert(kind_of_.end(), counts[k], static_cast<uint32_t>(k));
  }
  uint64_t records() const { return below_.back(); }

  void sample(Draws& draws, std::span<uint32_t> times) const {
    std::fill(times.begin(), times.end(), 0);
    if (splits()) return split(draws, 0, times.size(), records(), times);
    const size_t n = records();
    if (kind_of_.empty()) {
      for (size_t i = 0; i < n; ++i) ++times[draws.below(n)];
    } else {
      for (size_t i = 0; i < n; ++i) ++times[kind_of_[draws.below(n)]];
    }
  }

 private:
  /// Whether kinds have so many records that counts are split, rather than records drawn.
  bool splits() const { return records() >= 8 * (below_.size() - 1); }
  /// Shares `n` records out among the kinds begin .. end - 1: first between two halves of them.
  void split(Draws& draws, size_t begin, size_t end, uint64_t n, std::span<uint32_t> times) const {
    if (n == 0) return;
    if (end - begin == 1) {
      times[begin] = static_cast<uint32_t>(n);
      return;
    }
    const uint64_t first = below_[begin], whole = below_[end] - first;
    const auto half = std::lower_bound(&below_[begin + 1], &below_[end - 1], first + whole / 2);
    const auto middle = static_cast<size_t>(half - below_.data());
    const uint64_t left = draws.hits(n, *half - first, whole);
    split(draws, begin, middle, left, times);
    split(draws, middle, end, n - left, times);
  }

  std::vector<uint64_t> below_ = {0};  ///< [kinds + 1] records of the kinds before
  std::vector<uint32_t> kind_of_;      ///< [records], unless counts are split, or all 1
};

/// [size][kReplicates] values of the measures: draw(r, numbers) makes the numbers [kinds] of
/// replicate r. Threads take replicates as they come, which changes no value.
template <typename Measures, typename Draw>
std::vector<std::vector<double>> replicates(size_t kinds, size_t size, int threads,
                                            const Measures& measures, const Draw& draw) {
  constexpr size_t kBlock = 16;
  struct Thread {
    Measures measures;
    std::vector<uint32_t> numbers;
    std::vector<double> values;
  };
  std::vector<std::vector<double>> found(size, std::vector<double>(kReplicates));
  Team team(threads);
  const auto parts = static_cast<size_t>(team.size());
  std::vector<Thread> own(parts,
                          {measures, std::vector<uint32_t>(kinds), std::vector<double>(size)});
  std::atomic<size_t> next{0};
  team.run([&](int part, int) {
    Thread& t = own[static_cast<size_t>(part)];
    for (size_t begin; (begin = next.fetch_add(kBlock)) < kReplicates;) {
      for (size_t r = begin; r < std::min(begin + kBlock, kReplicates); ++r) {
        draw(r, t.numbers);
        t.measures(t.numbers, t.values);
        for (size_t m = 0; m < size; ++m) found[m][r] = t.values[m];
      }
    }
  });
  return found;
}

/// The quantile of sorted values, linear between two of them, as numpy's percentile.
double quantile(std::span<const double> sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Interval percentiles(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {kNan, kNan};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.025), quantile(values, 0.975)};
}

/// The two-sided p-value of `own` among values under the hypothesis, as scipy's permutation_test.
double two_sided(std::span<const double> drawn, double own) {
  if (std::isnan(own)) return kNan;
  const double slack = std::abs(own) * 1e-10;  // equal but for rounding
  size_t above = 1, below = 1, all = 1;
  for (const double value : drawn) {
    if (std::isnan(value)) continue;
    ++all;
    above += value >= own - slack;
    below += value <= own + slack;
  }
  return std::min(1.0, 2 * static_cast<double>(std::min(above, below)) / static_cast<double>(all));
}

}  // namespace

std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);
}

Interval wilson(uint64_t hits, uint64_t n) {
  if (n == 0) return {kNan, kNan};
  constexpr double z = 1.959963984540054;
  const auto records = static_cast<double>(n);
  const double share = static_cast<double>(hits) / records, scale = 1 + z * z / records;
  const double middle = (share + z * z / (2 * records)) / scale;
  const double half =
      z / scale * std::sqrt(share * (1 - share) / records + z * z / (4 * records * records));
  return {hits == 0 ? 0 : middle - half, hits == n ? 1 : middle + half};
}

std::vector<Interval> bootstrap(std::span<const uint64_t> counts, size_t size,
                                const Resampling& how, const SampleMeasures& measures) {
  const Sampler sampler(counts);
  if (sampler.records() == 0) return std::vector<Interval>(size, {kNan, kNan});
  std::vector<Interval> intervals;
  for (std::vector<double>&values : replicates(counts.size(), size, how.threads, measures,
                                               [&](size_t r, std::span<uint32_t> times) {
                                                 Draws draws(how.seed, r);
                                                 sampler.sample(draws, times);
                                               }))
    intervals.push_back(percentiles(std::move(values)));
  return intervals;
}

double mcnemar(uint64_t first_only, uint64_t second_only) {
  const uint64_t n = first_only + second_only, least = std::min(first_only, second_only);
  const auto log_factorial = [](uint64_t x) { return std::lgamma(static_cast<double>(x) + 1); };
  double sum = 0;
  for (uint64_t k = 0; k <= least; ++k) {
    sum += std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) -
                    static_cast<double>(n) * std::log(2.0));
  }
  return std::min(1.0, 2 * sum);
}

std::vector<double> permutation_test(std::span<const uint64_t> counts, size_t size,
                                     const Resampling& how, const SwappedMeasures& differences) {
  std::vector<double> own(size);
  SwappedMeasures measure = differences;
  measure(std::vector<uint32_t>(counts.size(), 0), own);
  const bool single = are_single(counts);
  const auto found = replicates(counts.size(), size, how.threads, differences,
                                [&](size_t r, std::span<uint32_t> swapped) {
                                  Draws draws(~how.seed, r);
                                  if (single) return draws.coins(swapped);
                                  for (size_t k = 0; k < counts.size(); ++k)
                                    swapped[k] = draws.heads(counts[k]);
                                });
  std::vector<double> p;
  for (size_t m = 0; m < size; ++m) p.push_back(two_sided(found[m], own[m]));
  return p;
}

std::string Doubt::rows() const {
  std::string rows;
  for (const auto& [name, interval] : intervals) {
    rows += fmt::format("ci95\t{}\t{}\t{}\n", name, number_text(interval.low),
                        number_text(interval.high));
  }
  for (const MeasureDifference& d : differences) {
    rows += fmt::format("against\t{}\t{}\t{}\t{}\t{}\t{}\n", d.name, number_text(d.other),
                        number_text(d.own - d.other), number_text(d.interval.low),
                        number_text(d.interval.high), number_text(d.p));
  }
  if (!discordant) return rows;
  const auto [own, other] = *discordant;
  return rows + fmt::format("mcnemar\t{}\t{}\t{}\n", own, other, number_text(mcnemar(own, other)));
}

void Doubt::add_to(JsonRow& json) const {
  if (!intervals.empty()) {
    json.object("ci95");
    for (const auto& [name, interval] : intervals)
      json.list(name).number("", interval.low).number("", interval.high).end_list();
    json.end_object();
  }
  if (!differences.empty()) {
    json.object("against");
    for (const MeasureDifference& d : differences) {
      json.object(d.name).number("other", d.other).number("difference", d.own - d.other);
      json.number("low", d.interval.low).number("high", d.interval.high).number("p", d.p);
      json.end_object();
    }
    json.end_object();
  }
  if (!discordant) return;
  const auto [own, other] = *discordant;
  json.object("mcnemar").count("own", own).count("other", other);
  json.number("p", mcnemar(own, other)).end_object();
}

}  // namespace bert
