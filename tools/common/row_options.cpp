#include "common/row_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cpu.h"
#include "common/as_text.h"
#include "common/progress.h"
#include "common/run.h"

namespace bert::tools {

RowOptions::RowOptions(Command& app, Kind kind, size_t texts, const char* quiet)
    : app_(app), kind_(kind) {
  stream_.texts = std::max<size_t>(texts, 1);
  if (texts == 0) wanted_ = Wanted::lines;
  stream_.jobs = allowed_cpus();
  app.heading("Input and rows");
  add_row_options(app, texts);
  app.heading("Running");
  add_running_options(app, quiet);
  app.heading(Command::kOwnOptions);
}

void RowOptions::add_row_options(Command& app, size_t texts) {
  app.add({"FILE", "files of records; '-' or none: standard input", text("")}, stream_.files)
      .may_be_empty();
  if (texts > 0) {
    fields_option_ =
        app.add({"-f,--fields",
                 texts == 2 ? "the two fields that hold the texts, as in 2,5 (default: 1,2)"
                            : "the field that holds the text (default: the whole line)",
                 column()},
                fields_)
            .shown_as("-f");
  }
  app.add({"-0,--null", "records end with NUL, in input and output"}, nul_);
  app.add({"--header", "the first line of each file names the fields"}, stream_.header);
  if (texts > 0) {
    add_csv(app, "read CSV with a header, and write rows as CSV", stream_.csv, no_header_)
        ->excludes(app.get_option("--null"));
  }
  add_shape_options(app, texts);
}

void RowOptions::add_shape_options(Command& app, size_t texts) {
  app.add({"-n,--number", "write the record number first"}, number_);
  const bool annotator = kind_ == Kind::annotator;
  auto only = app.add({"-o,--only", annotator ? "write the results only, without the input line"
                                              : "write the results only (the default)"},
                      drop_line_);
  app.add({"--keep", annotator ? "write the input line after the results (the default)"
                               : "write the input line after the result"},
          keep_line_)
      ->excludes(only);
  app.add({"--json", "write one JSON object per record"}, json_);
  if (texts > 0) {
    app.add({"--jsonl", "read JSON objects, -f names the key; write them with the results added"},
            json_lines_)
        .of("json_lines")
        ->excludes(app.get_option("--header"))
        ->excludes(app.get_option("--csv"));
  }
  if (texts > 0) add_as_text(app, wanted_);
  app.add({"--skip-bad", "write an empty row for a bad record, count it and go on (status 65)"},
          stream_.skip_bad);
  app.add({"--meta", "begin with a '#' line: version, hashes of the model, options"}, meta_)
      .same_rows();
}

void RowOptions::add_running_options(Command& app, const char* quiet) {
  app.add({"-j,--jobs", "threads (default: the CPUs it may use)", whole(1, 1024)}, stream_.jobs)
      .same_rows();
  app.add({"--progress", "show progress on stderr, also if it is not a terminal"}, progress_)
      .same_rows();
  app.add({"--memo", "talk to memo over standard input and output"}, [] { set_within_memo(); })
      .same_rows()
      ->group("");
  app.add({quiet, "write only errors to stderr"}, [] { set_quiet(true); }).same_rows();
  app.add({"-v,--verbose", "report the speed, and each text that is cut, on stderr"}, verbose_)
      .same_rows();
}

void RowOptions::annotate(const std::string& field, bool keeps_line) {
  if (keeps_line) kind_ = Kind::annotator;
  default_field_ = field;
}

/// Decides which of line and number rows of this shape have. Throws Error(usage) for options that
/// they cannot follow.
void RowOptions::settle_shape(const RowShape& shape) {
  if (stream_.csv && !no_header_) stream_.header = true;
  if (stream_.csv && shape.is_line) {
    throw Error(Error::Kind::usage, "--csv", "not where a row is the input line, changed");
  }
  if (stream_.csv && keep_line_ && shape.record == RowShape::Per::none) {
    throw Error(Error::Kind::usage, "--keep", "not with --csv, whose rows of a search are cells");
  }
  const bool rows = shape.record != RowShape::Per::none;
  if ((!rows && !shape.own_line) || !shape.line) {
    if (keep_line_) throw Error(Error::Kind::usage, "--keep", "these rows have no input line");
    drop_line_ = true;
  }
  if (!rows) drop_line_ = !keep_line_;
  if (shape.is_line) drop_line_ = false;
  if (number_ && !(shape.number && rows)) {
    throw Error(Error::Kind::usage, "--number", "these rows have no record's number");
  }
  const std::pair<bool, const char*> only_lines[] = {{meta_, "--meta"},
                                                     {number_, "--number"},
                                                     {keep_line_, "--keep"},
                                                     {json_, json_lines_ ? "--jsonl" : "--json"}};
  for (const auto& [given, option] : only_lines) {
    if (!shape.bad_row.empty() && given) {
      throw Error(Error::Kind::usage, option, "wants an output of lines");
    }
  }
  if (recursive_ && rows && !shape.number) {
    throw Error(Error::Kind::usage, "--recursive", "these rows have no file's name");
  }
  if (context_ && stream_.csv) {
    throw Error(Error::Kind::usage, "--context", "not with --csv, whose rows have the same cells");
  }
  number_ |= shape.record == RowShape::Per::several;
  number_ &= rows && shape.number;
  if ((kind_ == Kind::transformer || !rows) && json_ && keep_line_) {
    throw Error(Error::Kind::usage, "--keep", "not with --json, whose rows are objects");
  }
}

void RowOptions::fill(TaskOptions& options, const RowShape& shape) {
  shape_ = shape;
  json_ |= json_lines_;
  settle_shape(shape);
  max_length_ = options.encode.max_length;
  precision_ = options.precision;
  explain_limit(options.limit_source);
  explain_non_finite(options.bad_weights);
  options.encode.count_dropped = json_ || verbose_;
  if (verbose_) {
    options.on_cut = [](const Record& record, size_t dropped) {
      notice(fmt::format("{}: record {}: cut, {} tokens left out", *record.file,
                         record.number_in_file, dropped));
    };
  }
  options.file = names_file();
  options.number = number_;
  options.keep_line = kind_ == Kind::annotator ? !drop_line_ : keep_line_;
  options.json = json_;
}

}  // namespace bert::tools
