#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/export.h"
#include "io/record.h"
#include "io/rows.h"

namespace bert {

class Team;

/// What a run counted; the workers' counts are added up at the end.
struct Counts {
  uint64_t records = 0;
  uint64_t overflowed = 0;        ///< records whose text was too long
  uint64_t invalid_utf8 = 0;      ///< records with bytes that are not UTF-8
  uint64_t first_overflowed = 0;  ///< record number of the first; 0: none
  uint64_t first_invalid_utf8 = 0;
  uint64_t unknown = 0;  ///< records with a text of which most tokens are [UNK]
  uint64_t first_unknown = 0;
  uint64_t non_finite = 0;  ///< records whose result is not a number
  // What the stream itself counts:
  uint64_t bad = 0;       ///< records that were left out (StreamOptions::skip_bad)
  std::string first_bad;  ///< what is wrong with the first of them
  uint64_t blank = 0;     ///< blank records behind the last one (StreamOptions::gold)
  uint64_t bytes = 0;     ///< of rows that were written
  Counts& operator+=(const Counts& other);
};

/// One thread's share of a tool: borrows the const tokenizer and model, owns every buffer it
/// reuses.
class BERT_API Worker {
 public:
  virtual ~Worker() = default;
  /// Appends the rows of all `records`, in order. Throws Error for a bad record: stream() then runs
  /// the chunk again in ever smaller parts, so that the rows of the others are written. What is
  /// counted must therefore not be counted again for a record that comes again; numbers only go up.
  virtual void run(std::span<const Record> records, Rows& rows) = 0;
  const Counts& counts() const { return counts_; }
  /// Threads that are idle while this worker runs alone; set by stream() before run().
  virtual void use_team(Team*) {}

 protected:
  Counts counts_;
};

}  // namespace bert
