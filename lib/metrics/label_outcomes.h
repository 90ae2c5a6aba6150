#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "metrics/doubt.h"

namespace bert {

/// What records were given beside what they should have been, and how often: the ids of the gold
/// labels, of the predicted ones, and of those of another prediction.
class LabelOutcomes {
 public:
  void add(std::span<const size_t> gold, std::span<const size_t> predicted,
           std::span<const size_t> other);

  /// Intervals of accuracy, macro_f1 and micro_f1, of `labels` labels.
  std::vector<DoubtedMeasure> intervals(size_t labels, const Resampling& how) const;
  /// How the prediction differs from the other in the same measures.
  std::vector<MeasureDifference> differences(size_t labels, const Resampling& how) const;
  /// Records that only the prediction, and that only the other has right.
  std::pair<uint64_t, uint64_t> discordant() const;

 private:
  struct Outcome {
    std::vector<size_t> gold, predicted, other;
    bool operator<(const Outcome& o) const {
      return std::tie(gold, predicted, other) < std::tie(o.gold, o.predicted, o.other);
    }
  };
  struct Table;
  Table table() const;

  std::map<Outcome, uint64_t> outcomes_;
};

}  // namespace bert
