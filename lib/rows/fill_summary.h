#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/export.h"
#include "metrics/doubt.h"
#include "pipeline/worker.h"
#include "rows/mlm_worker.h"

namespace bert {

/// How well masks with a known truth were filled.
struct BERT_API FillSummary {
  uint64_t records = 0;  ///< with a mask, whether or not its truth is known
  uint64_t masks = 0;
  uint64_t pieces = 0;
  uint64_t top1 = 0;
  uint64_t top5 = 0;
  UnknownCount unknown;  ///< masks whose truth the model cannot choose: wrong, without surprisal
  OrderFreeSum reciprocal_rank;
  std::map<size_t, uint64_t> ranks;  ///< masks of each rank
  OrderFreeSum surprisal;
  /// Surprisal and pieces of each mask that has one; the perplexity is of these.
  std::vector<std::pair<double, uint32_t>> surprisals;

  FillSummary& operator+=(const FillSummary& other);
  /// "200 masks: top-1 0.41, top-5 0.63, MRR 0.51, perplexity 13.2"; of a run that did not measure
  /// nothing, unless none of its records had a mask.
  std::string text(bool measured, const Counts& counts) const;
  /// The measures of masks with a known truth, by name: lines `NAME VALUE`, and a JSON object.
  std::string report() const;
  std::string json(const Doubt& doubt = {}) const;
  /// The intervals of top1, top5, mrr and perplexity.
  Doubt doubt(const Resampling& how) const;
  /// "95 %: top-1 0.35 to 0.47, top-5 0.57 to 0.69, MRR 0.45 to 0.57, perplexity 9.1 to 17.4"
  static std::string text_of(const Doubt& doubt);
  /// What it says of truths that the model cannot choose; "" if there are none.
  std::string unknown_text() const;

 private:
  struct Measures {
    double top1, top5, reciprocal_rank, perplexity;
  };
  Measures measures() const;
  Interval perplexity_interval(const Resampling& how) const;
};

}  // namespace bert
