#include "common/report.h"

#include <sys/stat.h>

#include <optional>

#include "common/run.h"
#include "io/output_file.h"

namespace bert::tools {
namespace {

/// Refuses to replace an input.
void refuse_input(const std::string& path, const std::vector<std::string>& files) {
  struct stat output {};
  if (stat(path.c_str(), &output) != 0) return;
  for (const std::string& file : files) {
    struct stat input {};
    if (stat(file.c_str(), &input) != 0) continue;
    if (input.st_dev == output.st_dev && input.st_ino == output.st_ino)
      throw Error(Error::Kind::cannot_create, path, "is an input too");
  }
}

}  // namespace

MakeReport report_of(const LabelMetrics& metrics, bool confusions) {
  return [&metrics, confusions](const Resampling& how) {
    const Doubt doubt = metrics.doubt(how);
    return Report{metrics.report(), confusions ? metrics.confusions() : "", doubt.rows(),
                  metrics.json(confusions, doubt)};
  };
}

void ReportOption::add_seed(Command& app, CLI::Option* gold) {
  const Declared option =
      app.add({"--seed", "seed of the samples that intervals and tests are drawn from (default: 1)",
               whole()},
              seed_)
          .same_rows();
  if (gold) option->needs(gold);
}

Declared ReportOption::add(Command& app, CLI::Option* gold) {
  const Declared option =
      app.add(
             {"--report", "file for the report (JSON if it ends in .json); -: stdout, without rows",
              text("FILE")},
             path_)
          .same_rows();
  if (gold) option->needs(gold);
  return option;
}

int ReportOption::run(RowOptions& rows, const std::function<std::unique_ptr<Worker>()>& make_worker,
                      const MakeReport& report) const {
  return run(
      rows, [&] { return rows.run(make_worker); }, report);
}

int ReportOption::run(RowOptions& rows, const std::function<int()>& run_rows,
                      const MakeReport& report) const {
  if (given() && within_memo())
    throw Error(Error::Kind::usage, "--report", "would miss the records that memo has");
  std::optional<OutputFile> file;
  if (hides_rows()) {
    rows.stream().write = [](std::string_view) {};
  } else if (given()) {
    refuse_input(path_, rows.stream().files);
    file.emplace(path_);
  }
  const int status = run_rows();
  if (!report) return status;
  const Report found = report({seed_, rows.stream().jobs});
  if (!given()) {
    print_report(found.text + found.end);
    return status;
  }
  const bool json = file ? path_.ends_with(".json") : rows.json();
  const std::string text = json ? found.json + "\n" : found.text + found.more + found.end;
  if (file) {
    file->write(text);
    file->commit();
  } else {
    print(text);
  }
  return status;
}

}  // namespace bert::tools
