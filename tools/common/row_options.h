#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "common/command.h"
#include "common/row_painter.h"
#include "memo/served_rows.h"
#include "pipeline/stream.h"
#include "rows/task_options.h"

namespace bert::tools {

/// What the rows of a run are, whatever the row options say.
struct RowShape {
  /// one: a row for each record. several: any number of rows for a record, each of which begins
  /// with the record's number; a bad record has none. optional: a row or none; a bad record has
  /// none. none: no rows of records.
  enum class Per { one, several, optional, none };
  Per record = Per::one;
  bool number = true, line = true;  ///< whether they may have the record's number, the input line
  bool own_line = false;            ///< rows of no record have an input line if --keep is given
  bool is_line = false;             ///< a row is the input line, whatever the options say
  std::string bad_row = {};  ///< not empty: the rows are binary, and this one is a bad record's
};

/// The common options of all tools that turn records into rows: FILE..., -f, -0, --header, -n, -o,
/// --keep, --json, --jsonl, --as-text, --skip-bad, -j, --progress, --meta, -q, -v
class RowOptions {
 public:
  /// An annotator writes results, then the input line (-o drops it). A transformer writes only its
  /// result (--keep appends the line). Both accept -o and --keep.
  enum class Kind { annotator, transformer };
  /// `texts` 0: a record is no text and has no fields to choose from, so there is no -f.
  RowOptions(Command& app, Kind kind, size_t texts = 1, const char* quiet = "-q,--quiet");

  /// Sets the options of a task that these options decide. Throws
  /// Error(usage) for options that rows of this shape cannot follow: --keep, --meta.
  void fill(TaskOptions& options, const RowShape& shape = {});
  /// Without -f the text is field `field`, and with `keeps_line` rows end with the input line
  /// unless -o is given, whatever the tool does else. Call it before fill.
  void annotate(const std::string& field, bool keeps_line);
  /// Declares -r and --color, for tools that search files or whose rows are read by people.
  void add_search(Command& app);
  /// The same and -C, which wants `query`.
  void add_search(Command& app, CLI::Option* query);
  /// Records around one that a search found, on each side; none: not asked for.
  const std::optional<size_t>& context() const { return context_; }
  bool recursive() const { return recursive_; }
  /// Writes rows that are not the stream's to standard output, as the stream writes its own.
  void show(std::string_view rows);
  /// Runs the stream, then reports texts that were cut or not UTF-8 on stderr. Returns the exit
  /// status.
  int run(const std::function<std::unique_ptr<Worker>()>& make_worker);
  /// The same for records that come from no stream: `write_rows` gives all rows to the function
  /// that it gets, in order.
  using Write = std::function<void(std::string_view rows)>;
  int run_all(const std::function<Counts(const Write& write)>& write_rows);
  /// `worker`, with its rows put into the objects of --jsonl if that is given, as run() does it.
  std::unique_ptr<Worker> within_json_lines(std::unique_ptr<Worker> worker) const;
  /// A file that decides the rows, as a model does: --meta has its hash, if it is a regular file.
  void decide_by(const std::string& file);
  /// The same for a file that stands in the model's place.
  void decide_by_file_alone(const std::string& file) {
    decide_by(file);
    no_model_ = true;
  }
  char terminator() const { return nul_ ? '\0' : '\n'; }
  bool csv() const { return stream_.csv; }
  /// Rows as these options ask for them.
  Rows new_rows() const { return Rows(terminator(), stream_.csv); }
  /// The stream's options, to which a tool adds texts, extra fields, output names or chunk size.
  StreamOptions& stream() { return stream_; }
  bool json() const { return json_; }
  bool reads_json_lines() const { return json_lines_; }
  bool keeps_line() const { return keep_line_; }  ///< --keep, as it was given
  /// What the input should be, by the options that were given.
  Wanted wanted() const {
    if (wanted_ == Wanted::text_or_objects && stream_.csv) return Wanted::csv;
    return wanted_ == Wanted::text_or_objects && json_lines_ ? Wanted::objects : wanted_;
  }
  bool skips_bad() const { return stream_.skip_bad; }
  const std::string& fields() const { return fields_; }  ///< -f, as it was given
  bool fields_given() const { return fields_option_ && fields_option_->count() > 0; }
  const Counts& counts() const { return counts_; }

 private:
  void add_row_options(Command& app, size_t texts);
  void add_shape_options(Command& app, size_t texts);
  void add_running_options(Command& app, const char* quiet);
  bool number_given() const { return app_.get_option("--number")->count() > 0; }
  void settle_shape(const RowShape& shape);
  void split_fields();
  void name_columns();
  /// `left_out`: options that are not named.
  std::string meta(const std::set<std::string>& left_out = {}) const;
  void serve();
  void refuse_within_memo() const;
  void open_folders();
  void refuse_folders(int& status) const;
  /// Whether rows begin with the file of their record.
  bool names_file() const { return recursive_ && shape_.record != RowShape::Per::none; }
  void paint_rows();
  void write_place(const Record& record, const Error& error, Rows& rows) const;
  void report_left_out(int& status) const;

  const Command& app_;
  StreamOptions stream_;
  CLI::Option* fields_option_ = nullptr;
  std::string fields_;
  std::vector<std::string> deciding_;
  size_t max_length_ = 0;  ///< tokens, for the report of texts that were cut
  std::optional<Precision> precision_;
  bool nul_ = false;
  bool no_header_ = false;
  bool number_ = false;
  bool drop_line_ = false;
  bool keep_line_ = false;
  bool json_ = false;
  bool json_lines_ = false;
  bool recursive_ = false;
  std::vector<std::string> refused_folders_;  ///< named without -r
  std::optional<size_t> context_;
  ColorWhen color_ = ColorWhen::none;
  std::optional<RowPainter> painter_;
  Wanted wanted_ = Wanted::text_or_objects;
  RowShape shape_;
  bool progress_ = false;
  bool meta_ = false;
  bool no_model_ = false;
  std::unique_ptr<ServedRows> served_;  ///< within memo
  bool verbose_ = false;
  Kind kind_;
  std::string default_field_;
  Counts counts_;
};

/// Whether standard output goes into this file.
bool is_output(const std::string& file);
/// Refuses an input file that is also the output: it would grow while it is read and never end.
void refuse_output(const std::vector<std::string>& files);

}  // namespace bert::tools
