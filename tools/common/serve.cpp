// The side of a tool that memo runs: RowOptions with --memo.
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/platform.h"
#include "common/npy_output.h"
#include "common/row_options.h"
#include "common/run.h"

namespace bert::tools {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Error::Kind::usage, "within memo", what);
}

}  // namespace

/// Refuses rows that are not of one record.
void RowOptions::refuse_within_memo() const {
  if (!stream_.files.empty() && !recursive_) {
    throw Error(Error::Kind::usage, stream_.files[0], "memo reads the files: name it before '--'");
  }
  if (recursive_) refuse("found --recursive, wants lines of one input");
  if (stream_.gold) refuse("found true labels, whose report would miss the records that memo has");
  if (stream_.adjacent) refuse("found rows of two records, wants rows of one");
  if (stream_.paragraphs) refuse("found records of several lines, wants lines");
  if (shape_.record == RowShape::Per::none) refuse("found rows of all records, wants rows of each");
  if (!shape_.number) refuse("found rows without the record's number");
  if (json_lines_ && shape_.record == RowShape::Per::several)
    refuse("found --jsonl with several objects of a record");
  if (json_lines_ && number_given()) refuse("found --number with --jsonl");
  if (!shape_.bad_row.empty() && shape_.record != RowShape::Per::one) {
    refuse("found several vectors of a record in binary, wants one");
  }
}

void RowOptions::decide_by(const std::string& file) {
  deciding_.push_back(file);
  struct stat status {};
  if (!within_memo() || file.empty()) return;
  // Standard input, which memo sends requests to, may not be read before the greeting.
  if (file != "-" && (stat(file.c_str(), &status) != 0 || S_ISREG(status.st_mode))) return;
  refuse("found '" + printable(file) + "', wants a regular file, since it decides the rows");
}

/// Begins to talk to memo: greets it, and makes the stream take requests and write replies.
void RowOptions::serve() {
  platform::end_with_parent();  // a memo that was killed wants no more rows
  refuse_within_memo();
  Greeting greeting;
  greeting.terminator = stream_.terminator;
  greeting.csv = stream_.csv;
  greeting.numbers = json_lines_ ? Greeting::Numbers::none
                     : json_     ? Greeting::Numbers::json
                     : number_   ? Greeting::Numbers::field
                                 : Greeting::Numbers::none;
  greeting.header = stream_.header;
  greeting.skip_bad = stream_.skip_bad;
  greeting.wanted = std::exchange(stream_.wanted, Wanted::anything);
  greeting.begin =
      meta_ ? "# " + meta() + stream_.terminator : std::string(NpyOutput::within_memo());
  // These change the rows of bad records and the header of an npy file.
  greeting.key = meta({"skip-bad", "rows"});
  ServedRows::Shape shape;
  shape.numbers = greeting.numbers;
  shape.csv = greeting.csv_rows();
  shape.several = shape_.record == RowShape::Per::several;
  shape.header = stream_.header;
  shape.names = stream_.header && !stream_.output_names.empty();
  shape.width = shape_.bad_row.size();
  served_ = std::make_unique<ServedRows>(STDOUT_FILENO, shape, [this](const std::string& text) {
    return app_.with_option_names(text);
  });
  stream_.counted = true;
  stream_.place = [this](Record& record) { served_->place(record); };
  stream_.write_job = [this](const Job& job) { served_->write(job); };
  print(greeting.bytes());
}

}  // namespace bert::tools
