// The run of RowOptions: the stream, the rows of bad records, the reports.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/progress.h"
#include "common/row_options.h"
#include "common/run.h"
#include "io/json_row.h"
#include "pipeline/json_lines.h"

namespace bert::tools {

/// "2,5" becomes {"2", "5"}.
void RowOptions::split_fields() {
  stream_.json_lines = json_lines_;
  if (json_lines_ && !fields_given()) {
    stream_.fields.clear();
    return;
  }
  if (!fields_given()) {
    if (!default_field_.empty()) stream_.fields = {default_field_};
    return;
  }
  for (size_t begin = 0; begin <= fields_.size();) {
    const size_t comma = std::min(fields_.find(',', begin), fields_.size());
    stream_.fields.push_back(fields_.substr(begin, comma - begin));
    begin = comma + 1;
  }
}

void refuse_output(const std::vector<std::string>& files) {
  struct stat output {};
  if (fstat(STDOUT_FILENO, &output) != 0 || output.st_size == 0) return;
  for (const std::string& file : files.empty() ? std::vector<std::string>{"-"} : files) {
    if (is_output(file)) throw Error(Error::Kind::cannot_create, file, "is the output too");
  }
}

/// Writes the row of a record that is left out: empty results, with the number and the line if rows
/// have them.
void RowOptions::write_place(const Record& left_out, const Error& error, Rows& rows) const {
  if (shape_.record == RowShape::Per::optional) return;
  Record record = left_out;
  if (names_file()) record.number = record.number_in_file;
  if (json_lines_) {
    write_json_error(record, app_.with_option_names(error.what()), number_given(), rows);
    return;
  }
  if (json_) {
    JsonRow json(rows.raw());
    json.object().count("record", record.number);
    if (names_file()) json.text("file", *record.file);
    json.text("error", app_.with_option_names(error.what())).end_object();
    rows.end();
    return;
  }
  if (shape_.record != RowShape::Per::one) return;
  if (!shape_.bad_row.empty()) {
    rows.raw() += shape_.bad_row;
    return;
  }
  if (names_file()) rows.field(*record.file);
  if (number_) rows.field(record.number);
  for (size_t i = size_t{number_} + (names_file() ? 1 : 0); i < stream_.output_names.size(); ++i)
    rows.field("");
  if (stream_.keeps_line) rows.line(record.line);
  rows.end();
}

void RowOptions::report_left_out(int& status) const {
  if (counts_.blank > 0) {
    notice(fmt::format("{} blank record{} at the end {} skipped", counts_.blank,
                       counts_.blank == 1 ? "" : "s", counts_.blank == 1 ? "was" : "were"));
  }
  report_bad(counts_.bad, counts_.records, counts_.first_bad, status);
}

void RowOptions::name_columns() {
  const bool named = !json_ && (!stream_.output_names.empty() || shape_.is_line);
  auto& names = stream_.output_names;
  if (number_ && named) names.insert(names.begin(), "record");
  if (names_file() && named) names.insert(names.begin(), "file");
  paint_rows();
  if (json_) stream_.output_names.clear();
}

int RowOptions::run_all(const std::function<Counts(const Write& write)>& write_rows) {
  refuse_memo();
  name_columns();
  if (meta_) print(fmt::format("# {}{}", meta(), nul_ ? '\0' : '\n'));
  if (stream_.header && !stream_.output_names.empty()) {
    Rows names = new_rows();
    for (const std::string& name : stream_.output_names) names.field(name);
    names.end();
    print(names.bytes());
  }
  uint64_t bytes = 0;
  counts_ = write_rows([&](std::string_view rows) {
    show(rows);
    bytes += rows.size();
  });
  counts_.bytes = bytes;
  report(counts_, max_length_, recursive_);
  return 0;
}

std::unique_ptr<Worker> RowOptions::within_json_lines(std::unique_ptr<Worker> worker) const {
  if (!json_lines_ || shape_.record == RowShape::Per::none) return worker;
  return std::make_unique<JsonLinesWorker>(std::move(worker), number_given(), names_file());
}

int RowOptions::run(const std::function<std::unique_ptr<Worker>()>& make_worker) {
  split_fields();
  if (!within_memo()) refuse_output(stream_.files);
  stream_.terminator = nul_ ? '\0' : '\n';
  stream_.wanted = wanted();
  stream_.keeps_line = !json_ && (kind_ == Kind::annotator ? !drop_line_ : keep_line_);
  name_columns();
  if (shape_.record != RowShape::Per::none) {
    stream_.write_place = [this](const Record& record, const Error& error, Rows& rows) {
      write_place(record, error, rows);
    };
  }
  int status = 0;
  stream_.on_skipped = [&](const Error& error) {
    complain(error.what());
    status = static_cast<int>(error.kind());
  };
  refuse_folders(status);
  Progress progress(progress_, stream_.files);
  if (!within_memo()) progress.watch(stream_);
  if (within_memo()) {
    serve();
  } else if (meta_) {
    stream_.begin = [this] { print(fmt::format("# {}{}", meta(), stream_.terminator)); };
  }
  counts_ = bert::stream(stream_, [&] { return within_json_lines(make_worker()); });
  stream_.begin = {};
  progress.finish();
  report(counts_, max_length_, recursive_);
  if (!within_memo()) report_left_out(status);
  if (verbose_) report_speed(counts_, progress.seconds(), stream_.jobs);
  return status;
}

}  // namespace bert::tools
