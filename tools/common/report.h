#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/row_options.h"
#include "metrics/metrics.h"

namespace bert::tools {

/// What a tool found out about all its records.
struct Report {
  std::string text;       ///< lines with tabs
  std::string more = {};  ///< more such lines, which standard error does not get
  std::string json = {};  ///< an object
};

template <typename Metrics>
std::function<Report()> report_of(const Metrics& metrics) {
  return [&metrics] { return Report{metrics.report(), "", metrics.json()}; };
}
/// `confusions`: with the confusion matrix, which only texts of one label have.
std::function<Report()> report_of(const LabelMetrics& metrics, bool confusions);

/// The option --report: where the report goes in place of standard error.
class ReportOption {
 public:
  /// `gold`: the option without which there is no report; nullptr: there is always one.
  Declared add(Command& app, CLI::Option* gold);

  bool given() const { return !path_.empty(); }
  /// Runs the stream, then writes the report, if there is one, and returns the exit status. A file
  /// is opened before the first record, and appears whole or, if the run fails, not at all.
  int run(RowOptions& rows, const std::function<std::unique_ptr<Worker>()>& make_worker,
          const std::function<Report()>& report) const;

 private:
  std::string path_;  ///< "-": standard output, without rows
};

}  // namespace bert::tools
