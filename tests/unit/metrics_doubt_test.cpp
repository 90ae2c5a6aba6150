#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "metrics/calibration.h"
#include "metrics/doubt.h"
#include "metrics/metrics.h"
#include "metrics/rank_metrics.h"

namespace bert {
namespace {

/// Labels written as digits.
std::vector<size_t> digits(const std::string& text) {
  std::vector<size_t> labels;
  for (const char c : text) labels.push_back(static_cast<size_t>(c - '0'));
  return labels;
}

bool near(double value, double wanted, double tolerance) {
  return std::abs(value - wanted) <= tolerance;
}

const std::vector<double> kGold = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
const std::vector<double> kOwn = {2, 1, 4, 3, 7, 5, 8, 10, 6, 9};
const std::vector<double> kOther = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3.5};

}  // namespace

TEST_CASE("Wilson's interval is that of statsmodels 0.15") {
  // proportion_confint(hits, n, method="wilson")
  CHECK(near(wilson(7, 10).low, 0.396778147461, 1e-11));
  CHECK(near(wilson(7, 10).high, 0.892208732594, 1e-11));
  CHECK(near(wilson(850, 1000).low, 0.826531341573, 1e-11));
  CHECK(near(wilson(850, 1000).high, 0.870789927487, 1e-11));
  CHECK(wilson(0, 10).low == 0);
  CHECK(near(wilson(0, 10).high, 0.277532799863, 1e-11));
  CHECK(near(wilson(10, 10).low, 0.722467200137, 1e-11));
  CHECK(wilson(10, 10).high == 1);
  CHECK(std::isnan(wilson(0, 0).low));
}

TEST_CASE("blocks of random words drawn together are those drawn one by one") {
  std::array<uint32_t, 4 * kPhiloxBlocks> words;
  const uint64_t first = (uint64_t{7} << 32) - 3;  // carries into the second word
  philox4x32(first, {5, 6}, {1, 2}, words);
  for (size_t i = 0; i < kPhiloxBlocks; ++i) {
    const uint64_t at = first + i;
    const auto one =
        philox4x32({static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), 5, 6}, {1, 2});
    for (size_t w = 0; w < 4; ++w) CHECK(words[4 * i + w] == one[w]);
  }
}

TEST_CASE("samples of counts are multinomial, as those of records are") {
  // Of 2,000 records in kinds of 1,000, 600, 300 and 100. scipy 1.17: binom(2000, share).ppf of
  // 0.025 and 0.975, and of a sum of two kinds, which are not independent.
  const std::vector<uint64_t> counts = {1000, 600, 300, 100};
  const std::vector<uint64_t> records(2000, 1);
  const double low[] = {956, 560, 269, 81, 1258}, high[] = {1044, 640, 332, 120, 1342};
  const auto of_counts = [](auto times, auto values) {
    for (size_t k = 0; k < 4; ++k) values[k] = times[k];
    values[4] = times[0] + times[2];
  };
  const auto of_records = [&](auto times, auto values) {
    std::array<uint32_t, 4> sums{};
    for (size_t i = 0; i < 2000; ++i)
      sums[i < 1000 ? 0 : i < 1600 ? 1 : i < 1900 ? 2 : 3] += times[i];
    of_counts(sums, values);
  };
  const auto split = bootstrap(counts, 5, {1}, of_counts);
  const auto drawn = bootstrap(records, 5, {1}, of_records);
  for (size_t m = 0; m < 5; ++m) {
    for (const Interval& found : {split[m], drawn[m]}) {
      CHECK(near(found.low, low[m], 2));
      CHECK(near(found.high, high[m], 2));
    }
  }
}

TEST_CASE("McNemar's exact test is that of statsmodels 0.15") {
  CHECK(mcnemar(0, 0) == 1);
  CHECK(mcnemar(5, 5) == 1);
  CHECK(near(mcnemar(3, 9), 0.14599609375, 1e-12));
  CHECK(near(mcnemar(10, 1), 0.01171875, 1e-12));
  CHECK(near(mcnemar(40, 60), 0.056887933641, 1e-11));
}

TEST_CASE("intervals of labels and tests of two predictions agree with scipy 1.17") {
  const auto gold = digits("220211102001110000020120010202220111121021201200120210122200");
  const auto own = digits("220211102001110000000222000202220111121021201020120210112200");
  const auto other = digits("220212101001110012020101000102200111121021201200220010212200");
  LabelMetrics metrics({"a", "b", "c"});
  for (size_t i = 0; i < gold.size(); ++i) metrics.add({&gold[i], 1}, {&own[i], 1}, {&other[i], 1});
  const Doubt doubt = metrics.against({1});
  // scipy.stats.bootstrap(paired=True, method="percentile"), permutation_test("samples"); what both
  // draw differs, so the last digits do. Accuracy has Wilson's interval.
  CHECK(near(doubt.intervals[0].interval.low, wilson(53, 60).low, 1e-12));
  CHECK(near(doubt.intervals[1].interval.low, 0.7884, 0.01));
  CHECK(near(doubt.intervals[1].interval.high, 0.9534, 0.01));
  CHECK(near(doubt.intervals[2].interval.low, 0.8, 0.017));
  CHECK(near(doubt.intervals[2].interval.high, 0.95, 0.017));
  CHECK(near(doubt.differences[0].own - doubt.differences[0].other, 0.1, 1e-12));
  CHECK(near(doubt.differences[0].interval.low, -0.0167, 0.017));
  CHECK(near(doubt.differences[0].interval.high, 0.2167, 0.017));
  CHECK(near(doubt.differences[0].p, 0.1796, 0.015));  // McNemar's is its exact value
  CHECK(near(doubt.differences[1].interval.low, -0.0150, 0.01));
  CHECK(near(doubt.differences[1].interval.high, 0.2326, 0.01));
  CHECK(doubt.discordant->first == 10);
  CHECK(doubt.discordant->second == 4);
  CHECK(doubt.rows() == metrics.against({1}).rows());
  CHECK(doubt.rows() != metrics.against({2}).rows());
}

TEST_CASE("intervals of correlations and tests of two agree with scipy 1.17") {
  ValueMetrics metrics;
  for (size_t i = 0; i < kGold.size(); ++i) metrics.add(i + 1, kGold[i], kOwn[i], kOther[i]);
  const Doubt doubt = metrics.against({3});
  const double low[] = {0.6295, 0.44, 1.0}, high[] = {0.9587, 0.9872, 4.1};
  const double difference_low[] = {0.0762, -0.092, -17.875},
               difference_high[] = {0.8944, 1.0032, -1.8};
  const double p[] = {0.03125, 0.1015625, 0.046875};  // of all 1,024 exchanges
  const double tolerance[] = {0.02, 0.03, 0.11};
  for (size_t m = 0; m < 3; ++m) {
    CHECK(near(doubt.intervals[m].interval.low, low[m], tolerance[m]));
    CHECK(near(doubt.intervals[m].interval.high, high[m], tolerance[m]));
    CHECK(near(doubt.differences[m].interval.low, difference_low[m], 3 * tolerance[m]));
    CHECK(near(doubt.differences[m].interval.high, difference_high[m], 3 * tolerance[m]));
    CHECK(near(doubt.differences[m].p, p[m], 0.01));
  }
  CHECK_FALSE(doubt.discordant);
}

TEST_CASE("what is drawn depends neither on the threads nor on the order of records") {
  // Rounded values: many are equal, also across the two predictions.
  ValueMetrics forward, backward, own_only;
  LabelMetrics labels({"a", "b", "c"});
  const size_t n = 300;
  const auto value = [](uint64_t key, size_t i) { return static_cast<double>(mix(key, i) % 7); };
  for (size_t k = 0; k < n; ++k) {
    const size_t i = n - 1 - k;
    const auto of = [&](size_t at) {
      return std::array{value(1, at), value(1, at) + value(2, at), value(1, at) + 2 * value(3, at)};
    };
    const auto [gold, own, other] = of(k);
    forward.add(k, gold, own, other);
    own_only.add(k, gold, own);
    const auto [last_gold, last_own, last_other] = of(i);
    backward.add(k, last_gold, last_own, last_other);
    const size_t a = k % 3, b = mix(4, k) % 3, c = mix(5, k) % 2;
    labels.add({&a, 1}, {&b, 1}, {&c, 1});
  }
  const Doubt doubt = forward.against({1, 1});
  CHECK(doubt.rows() == forward.against({1, 3}).rows());
  CHECK(doubt.rows() == backward.against({1, 2}).rows());
  CHECK(doubt.rows().starts_with(own_only.doubt({1, 2}).rows()));
  CHECK(labels.against({1, 1}).rows() == labels.against({1, 3}).rows());
  CHECK(near(doubt.differences[1].own, forward.spearman(), 1e-12));
  std::vector<double> gold, own;
  for (size_t k = 0; k < n; ++k) {
    gold.push_back(value(1, k));
    own.push_back(value(1, k) + value(2, k));
  }
  CHECK(near(doubt.differences[0].own, pearson(gold, own), 1e-12));
  CHECK(doubt.differences[1].interval.low < doubt.differences[1].own - doubt.differences[1].other);
}

TEST_CASE("exchanges of equal values make the test of scipy 1.17") {
  // scipy.stats.permutation_test((own, other), statistic, permutation_type="samples"), exact
  const std::vector<double> gold = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
  const std::vector<double> own = {0, 1, 1, 1, 2, 3, 3, 2, 4, 4},
                            other = {1, 1, 0, 2, 2, 1, 3, 3, 2, 4};
  ValueMetrics metrics;
  for (size_t i = 0; i < gold.size(); ++i) metrics.add(i, gold[i], own[i], other[i]);
  const Doubt doubt = metrics.against({1, 2});
  CHECK(near(doubt.differences[0].p, 0.25, 0.012));
  CHECK(near(doubt.differences[1].p, 0.1875, 0.012));
  CHECK(near(doubt.differences[2].p, 0.3125, 0.012));
}

TEST_CASE("a report of nothing has no intervals") {
  CHECK(ValueMetrics().doubt({1}).rows() ==
        "ci95\tpearson\tnan\tnan\nci95\tspearman\tnan\tnan\nci95\tmse\tnan\tnan\n");
  CHECK(LabelMetrics({"a"}).doubt({1}).rows() ==
        "ci95\taccuracy\tnan\tnan\nci95\tmacro_f1\tnan\tnan\nci95\tmicro_f1\tnan\tnan\n");
}

TEST_CASE("the calibration error is the mean gap of bins of equal width") {
  Calibration calibration;
  CHECK(std::isnan(calibration.error()));
  calibration.add(1.0 / 15, true);  // the upper bound belongs to the first bin
  calibration.add(0.95, true);
  calibration.add(0.97, false);
  calibration.add(0.99, true);
  calibration.add(NAN, true);
  // (1 * |1 - 1/15| + 3 * |2/3 - 0.97|) / 4
  CHECK(near(calibration.error(), (14.0 / 15 + 3 * (0.97 - 2.0 / 3)) / 4, 1e-8));
}

TEST_CASE("measures of rankings are those of trec_eval") {
  // pytrec_eval-terrier 0.5.11, qrels {3: 2, 1: 1, 2: 0, 9: 1}, run {1, 2, 3, 10: 0.5, 4: 0.7}
  RankMetrics metrics({1, 5});
  for (const auto& [order, relevance] : {std::pair(3, 2), {1, 1}, {2, 0}})
    metrics.add("q", static_cast<uint64_t>(order), 0.5, relevance);
  metrics.add("q", 10, 0.4, 0);
  metrics.add("q", 4, 0.7, 0);
  metrics.add("q", 9, NAN, 1);  // was not found
  CHECK(metrics.report() ==
        "queries\t1\nmrr\t0.5\nmap\t0.333333\nndcg@1\t0\nndcg@5\t0.540586\nrecall@1\t0\n"
        "recall@5\t0.666667\nprecision@1\t0\nprecision@5\t0.4\n");
}

}  // namespace bert
