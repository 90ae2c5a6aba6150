#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/export.h"
#include "io/json_row.h"

namespace bert {

/// How far probabilities are from the shares of predictions that are right: the expected
/// calibration error (Guo et al. 2017) in bins of equal width, each without its lower and with its
/// upper bound.
///
/// Thread rule: add() may be called from many threads; the report does not depend on the order.
class BERT_API Calibration {
 public:
  static constexpr size_t kBins = 15;

  /// A probability that is NaN is left out.
  void add(double probability, bool right);
  double error() const;  ///< NaN of no prediction
  /// The line `ece E`, then rows `bin LOW HIGH RECORDS CONFIDENCE ACCURACY`.
  std::string report() const;
  /// The members ece and bins of an object.
  void add_to(JsonRow& json) const;

 private:
  struct Bin {
    uint64_t records = 0, right = 0;
    int64_t units = 0;  ///< the sum of the probabilities, in units that add up in any order
    double confidence() const;
    double accuracy() const;
  };

  mutable std::mutex mutex_;
  std::array<Bin, kBins> bins_;
};

}  // namespace bert
