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

/// The first record of those that are counted.
struct FirstRecord {
  uint64_t number = 0;  ///< 0: none
  uint64_t number_in_file = 0;
  std::string file = {};

  FirstRecord() = default;
  explicit FirstRecord(const Record& record)
      : number(record.number),
        number_in_file(record.number_in_file),
        file(record.file ? *record.file : "") {}
};

/// Counts of a run; at the end stream() adds up those of all workers.
struct Counts {
  uint64_t records = 0;
  uint64_t overflowed = 0;    ///< records whose text was too long
  uint64_t invalid_utf8 = 0;  ///< records with bytes that are not UTF-8
  FirstRecord first_overflowed;
  FirstRecord first_invalid_utf8;
  uint64_t unknown = 0;  ///< records with a text whose tokens are mostly [UNK]
  FirstRecord first_unknown;
  uint64_t empty = 0;  ///< records without a text, whose results are empty
  FirstRecord first_empty;
  uint64_t non_finite = 0;  ///< records whose result is nan or infinite
  // The following are counted by stream():
  uint64_t bad = 0;       ///< records that were left out (StreamOptions::skip_bad)
  std::string first_bad;  ///< the message of the first of them
  uint64_t blank = 0;     ///< blank records at the end of a file (StreamOptions::gold)
  uint64_t bytes = 0;     ///< bytes of rows written
  BERT_API Counts& operator+=(const Counts& other);
};

/// The part of a tool that runs in one thread. It borrows the const tokenizer and model, and owns
/// its buffers.
class BERT_API Worker {
 public:
  virtual ~Worker() = default;
  /// Appends the rows of all `records`, in order. Throws Error for a bad record; to Error(data)
  /// without a place, stream() adds the record. stream() then runs
  /// the chunk again in smaller and smaller parts, so that the rows of all good records are
  /// written. So a record may come again, and must not be counted again: its number is then not
  /// above that of the last counted record.
  virtual void run(std::span<const Record> records, Rows& rows) = 0;
  const Counts& counts() const { return counts_; }
  /// Gives the worker threads to share its work with, while it runs alone. Called by stream()
  /// before run().
  virtual void use_team(Team*) {}

 protected:
  Counts counts_;
};

}  // namespace bert
