#pragma once

#include <string>
#include <vector>

#include "common/report.h"
#include "io/record.h"
#include "metrics/rank_metrics.h"

namespace bert::tools {

/// The options of a report of rankings: --cutoffs, and those of every report.
class RankReport : public ReportOption {
 public:
  void add(Command& app, CLI::Option* gold);
  /// Throws Error(usage) for one that is no whole number from 1 up.
  std::vector<size_t> cutoffs() const;

 private:
  std::string cutoffs_ = "1,5,10";
};

/// The relevance in a field. Throws Error(data) naming the record for one that is no whole number.
int64_t relevance_of(const Record& record, std::string_view field);

}  // namespace bert::tools
