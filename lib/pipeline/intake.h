#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "io/record_reader.h"
#include "io/rows.h"
#include "pipeline/columns.h"
#include "pipeline/worker.h"

namespace bert {

/// A record that no worker gets.
struct LeftOut {
  size_t before;  ///< records[before] of its job, or the end
  Record record;
  Error error;
  bool blank;  ///< behind the last record of a file whose truth is known
};

/// A chunk on its way from reader to output.
struct Job {
  Chunk chunk;
  std::vector<Record> records;
  std::vector<LeftOut> left_out;  ///< by the intake, in order
  Counts counts;                  ///< of all that is left out
  std::string before;             ///< with adjacent: the text of the record before the first
  Rows rows;
  std::exception_ptr error;
  bool done = false;

  explicit Job(char terminator) : rows(terminator) {}
};

/// Makes records of the lines of chunks, in the order of the input: headers, fields, neighbours,
/// and what of the blank and short ones is left out.
class Intake {
 public:
  explicit Intake(const StreamOptions& options) : options_(options), columns_(options) {}

  /// Fills all of the job but its chunk. A bad record is left out, or becomes the job's error after
  /// the good ones before it.
  void take(Job& job);
  /// At the end of all files: whether blank records are left, which are then the job's.
  bool finish(Job& job);

 private:
  void take_lines(Job& job);
  bool choose(Record& record, Job& job);
  void leave_out_blanks(Job& job, bool at_end);
  void write_header(const Record& header, Rows& rows) const;

  const StreamOptions& options_;
  Columns columns_;
  uint64_t headers_ = 0;
  std::string previous_;         // with adjacent: the text of the last record of the last chunk
  std::vector<LeftOut> blanks_;  // with gold: of this file, behind its last record so far
};

}  // namespace bert
