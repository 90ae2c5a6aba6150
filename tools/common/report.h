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
  std::string end = {};   ///< the last lines, of intervals and tests
  std::string json = {};  ///< an object
};

/// Makes it at the end; `how`: what is drawn for it.
using MakeReport = std::function<Report(const Resampling& how)>;

/// The option --report: where the report goes in place of standard error.
class ReportOption {
 public:
  /// `gold`: the option without which there is no report; nullptr: there is always one.
  Declared add(Command& app, CLI::Option* gold);

  /// The option --seed of intervals that are drawn, for reports of measures.
  void add_seed(Command& app, CLI::Option* gold);

  bool given() const { return !path_.empty(); }
  /// Runs the stream, then writes the report, if there is one, and returns the exit status. A file
  /// is opened before the first record, and appears whole or, if the run fails, not at all.
  int run(RowOptions& rows, const std::function<std::unique_ptr<Worker>()>& make_worker,
          const MakeReport& report) const;
  /// The same for rows that `run_rows` writes.
  int run(RowOptions& rows, const std::function<int()>& run_rows, const MakeReport& report) const;
  /// Whether the report takes the place of the rows.
  bool hides_rows() const { return path_ == "-"; }

 private:
  uint64_t seed_ = 1;
  std::string path_;  ///< "-": standard output, without rows
};

template <typename Metrics>
MakeReport report_of(const Metrics& metrics) {
  return [&metrics](const Resampling& how) {
    const Doubt doubt = metrics.doubt(how);
    return Report{metrics.report(), "", doubt.rows(), metrics.json(doubt)};
  };
}
/// `confusions`: with the confusion matrix, which only texts of one label have.
MakeReport report_of(const LabelMetrics& metrics, bool confusions);

}  // namespace bert::tools
