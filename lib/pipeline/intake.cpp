#include "pipeline/intake.h"

#include <fmt/format.h>

#include <utility>

namespace bert {
namespace {

void clear(Job& job) {
  job.records.clear();
  job.decoded.clear();
  job.left_out.clear();
  job.bad.clear();
  job.failed = 0;
  job.counts = {};
  job.rows.clear();
  job.error = nullptr;
}

}  // namespace

void Intake::take(Job& job) {
  clear(job);
  if (job.chunk.first_of_file()) {
    leave_out_blanks(job, true);
    previous_.clear();
  }
  job.before = previous_;
  try {
    take_lines(job);
  } catch (const Error&) {
    job.error = std::current_exception();
  }
}

bool Intake::finish(Job& job) {
  if (blanks_.empty()) return false;
  clear(job);
  job.chunk = {};
  leave_out_blanks(job, true);
  return true;
}

void Intake::take_lines(Job& job) {
  const Chunk& chunk = job.chunk;
  std::string_view previous = job.before;
  for (size_t i = 0; i < chunk.lines.size(); ++i) {
    Record record{.line = chunk.lines[i],
                  .number = chunk.first_number + i - headers_,
                  .number_in_file = chunk.first_in_file + i - (options_.header ? 1 : 0),
                  .file = chunk.file,
                  .crlf = options_.terminator == '\n'};
    if (options_.place) options_.place(record);
    if (i == 0 && options_.header && chunk.first_of_file()) {
      columns_->read_header(record);
      take_header(record, job.rows);
      continue;
    }
    const bool good = choose(record, job);
    if (good && options_.adjacent) {
      record.text_pair = record.text;
      record.text = previous;
    }
    previous = good ? record.text_pair : std::string_view();
    if (good) job.records.push_back(record);
  }
  if (options_.adjacent) previous_ = previous;
}

/// False if the record has too few fields and is left out. A blank record waits for the next
/// record, which tells whether the file ends here.
bool Intake::choose(Record& record, Job& job) {
  const bool blank = record.body().empty();
  if (!blank) leave_out_blanks(job, false);
  try {
    if (keys_) {
      keys_->choose(record, job.decoded);
    } else {
      columns_->choose(record, job.decoded);
    }
    if (blank) leave_out_blanks(job, false);
    return true;
  } catch (const Error& error) {
    if (blank && options_.gold) {
      record.line = record.line.empty() ? "" : "\r";  // the chunk's bytes will be gone
      blanks_.push_back({0, record, error, true});
    } else if (options_.skip_bad) {
      job.left_out.push_back({job.records.size(), record, error, false});
    } else {
      throw;
    }
    return false;
  }
}

/// Hands the waiting blank records to the job: as blank `at_end` of their file, else as bad.
void Intake::leave_out_blanks(Job& job, bool at_end) {
  for (LeftOut& blank : std::exchange(blanks_, {})) {
    if (!at_end && !options_.skip_bad) throw Error(blank.error);
    blank.before = job.records.size();
    blank.blank = at_end;
    job.left_out.push_back(std::move(blank));
  }
}

/// The first header names the columns of all rows, so lines behind them must have its columns too.
void Intake::take_header(const Record& header, Rows& rows) {
  if (options_.output_names.empty() && !options_.keeps_line) {
    ++headers_;
    return;
  }
  if (headers_++ > 0) {
    if (!options_.keeps_line || header.body() == columns_kept_) return;
    header.fail(Error::Kind::data,
                fmt::format("found the columns '{}', wants those of the first file, '{}', which "
                            "name the columns of the input line in all rows",
                            printable(header.body()), printable(columns_kept_)));
  }
  columns_kept_ = header.body();
  for (const std::string& name : options_.output_names) rows.field(name);
  if (options_.keeps_line) rows.line(header.line);
  rows.end();
}

}  // namespace bert
