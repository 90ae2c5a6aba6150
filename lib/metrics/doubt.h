#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/export.h"
#include "io/json_row.h"

namespace bert {

/// How sure a measure of a sample is: intervals, and tests of two predictions of the same records.
///
/// Records are of kinds, of which `counts` has the number of records: records of a kind are the
/// same to every measure. So a sample of records is a count for each kind, and its measures take
/// the time of the kinds, not of the records. Where every record is a kind of its own, all counts
/// are 1.

/// A number as reports print it; "nan" for a NaN of any sign.
BERT_API std::string number_text(double value);

struct Interval {
  double low = 0, high = 0;
};

/// Samples and permutations that are drawn.
inline constexpr size_t kReplicates = 10000;

/// How they are drawn. What a seed draws does not depend on the threads.
struct Resampling {
  uint64_t seed = 1;
  int threads = 1;
};

/// The 95 % interval of Wilson (1927) for a share of `n` records; NaN of none.
BERT_API Interval wilson(uint64_t hits, uint64_t n);

/// Computes `values` for a sample with times[k] records of kind k. NaN: undefined for that sample.
/// Each thread calls a copy of the function: the memory that it changes is captured by value. It
/// must not throw.
using SampleMeasures =
    std::function<void(std::span<const uint32_t> times, std::span<double> values)>;

/// The 95 % percentile bootstrap intervals (Efron 1979) of `size` measures: of kReplicates samples
/// with replacement, without those where a measure is undefined.
BERT_API std::vector<Interval> bootstrap(std::span<const uint64_t> counts, size_t size,
                                         const Resampling& how, const SampleMeasures& measures);

/// The exact test of McNemar (1947), two-sided: of the records that only one of two predictions has
/// right, whether each has half of them.
BERT_API double mcnemar(uint64_t first_only, uint64_t second_only);

/// Computes `values`, each the difference of a measure between two predictions, where `swapped[k]`
/// of the records of kind k have the two exchanged. It is copied as SampleMeasures is.
using SwappedMeasures =
    std::function<void(std::span<const uint32_t> swapped, std::span<double> values)>;

/// The two-sided p-values of paired permutation tests of `size` differences: kReplicates times,
/// each record has its two predictions exchanged or not, by chance.
BERT_API std::vector<double> permutation_test(std::span<const uint64_t> counts, size_t size,
                                              const Resampling& how,
                                              const SwappedMeasures& differences);

/// A measure of a report with its interval.
struct DoubtedMeasure {
  std::string name;
  Interval interval;
};
/// What a measure of a prediction differs from that of another.
struct MeasureDifference {
  std::string name;
  double own = 0, other = 0;  ///< the measure of both
  Interval interval;          ///< bounds of own - other, by bootstrap
  double p = 1;               ///< probability if there is no difference, by permutation
};

/// What a report says at its end of how sure its measures are.
struct BERT_API Doubt {
  std::vector<DoubtedMeasure> intervals = {};
  std::vector<MeasureDifference> differences = {};
  /// Records that only the prediction, and that only the other has right; none of values.
  std::optional<std::pair<uint64_t, uint64_t>> discordant = {};

  /// Rows `ci95 NAME LOW HIGH`, then `against NAME OTHER DIFFERENCE LOW HIGH P` for each difference
  /// and `mcnemar OWN OTHER P`.
  std::string rows() const;
  /// The members ci95, against and mcnemar of an object.
  void add_to(JsonRow& json) const;
};

}  // namespace bert
