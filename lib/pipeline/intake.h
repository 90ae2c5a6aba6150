#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/record_reader.h"
#include "io/rows.h"
#include "pipeline/columns.h"
#include "pipeline/json_lines.h"
#include "pipeline/worker.h"

namespace bert {

/// A record that no worker computes.
struct LeftOut {
  size_t before;  ///< stands before records[before] of its job, or at the end
  Record record;
  Error error;
  bool blank;  ///< a blank record behind the last record of a file with gold labels
};

/// A chunk on its way from reader to output.
struct Job {
  Chunk chunk;
  std::vector<Record> records;
  std::vector<LeftOut> left_out;  ///< records that the intake leaves out, in order
  /// Number and message of each bad record that is left out, in order.
  std::vector<std::pair<uint64_t, std::string>> bad;
  uint64_t failed = 0;  ///< number of the record that ended the run in a worker; 0: none
  Counts counts;        ///< sums over the records that are left out
  std::string before;   ///< with `adjacent`: the text of the record before the first
  std::deque<std::string> decoded;  ///< texts of JSON lines and CSV, which records view
  Rows rows;
  std::exception_ptr error;
  bool done = false;

  explicit Job(const StreamOptions& options) : rows(options.terminator, options.csv) {}
};

/// Makes records from the lines of chunks, in input order: reads headers, chooses fields, pairs
/// neighbours, and leaves out blank and short records.
class Intake {
 public:
  explicit Intake(const StreamOptions& options) : options_(options) {
    if (options.json_lines) {
      keys_.emplace(options);
    } else {
      columns_.emplace(options);
    }
  }

  /// Fills a job from its chunk. A bad record is left out, or its error becomes the job's error,
  /// behind the good records before it.
  void take(Job& job);
  /// Call it at the end of all files. True if blank records are left, which it puts into `job`.
  bool finish(Job& job);

 private:
  void take_lines(Job& job);
  bool choose(Record& record, Job& job);
  void leave_out_blanks(Job& job, bool at_end);
  void take_header(const Record& header, Rows& rows);

  const StreamOptions& options_;
  std::optional<Columns> columns_;
  std::optional<JsonFields> keys_;  // of JSON lines, in place of columns
  uint64_t headers_ = 0;
  std::string columns_kept_;     // the first header, where rows end with the input line
  std::string previous_;         // with `adjacent`: the text of the last record of the last chunk
  std::vector<LeftOut> blanks_;  // with `gold`: blank records of this file behind its last good
                                 // record
};

}  // namespace bert
