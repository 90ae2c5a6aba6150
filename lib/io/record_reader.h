#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/export.h"

namespace bert {

/// Whole records of one file, with the bytes they stand in.
struct Chunk {
  std::string bytes;
  std::vector<std::string_view> lines;  ///< into bytes, without terminators
  const std::string* file = nullptr;    ///< name for messages
  bool first_of_file = false;           ///< lines[0] is the file's first record
  uint64_t first_number = 0;            ///< record number of lines[0], 1-based over all files
};

/// Reads files in turn ("-" or none: stdin) and cuts them into records. Only the terminator ends a
/// record; a last record without it counts; a record never spans two files.
class BERT_API RecordReader {
 public:
  /// `on_skipped` hears of a file that cannot be opened; reading goes on with the next.
  RecordReader(std::vector<std::string> files, char terminator,
               std::function<void(const Error&)> on_skipped);
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// Fills `chunk` with at most `max_records` records, or about `max_bytes` bytes, or with what is
  /// there when input would block and `keep_waiting()` is false (it is asked about once a
  /// millisecond). False at the end of all files. Throws Error(io) when a read fails; records
  /// before it were delivered.
  bool next(Chunk& chunk, size_t max_records, size_t max_bytes,
            const std::function<bool()>& keep_waiting);

  /// Whether the last chunk closed because input would block, or was the last of all.
  bool paused() const { return paused_; }

 private:
  bool open_next();
  void close_file();
  void fill();
  void cut(Chunk& chunk, size_t max_records, size_t max_bytes);
  bool has_terminator(size_t from) const;
  bool wait_for_input(const std::function<bool()>& keep_waiting) const;

  std::vector<std::string> files_;
  char terminator_;
  std::function<void(const Error&)> on_skipped_;
  size_t next_file_ = 0;
  int fd_ = -1;
  const std::string* name_ = nullptr;
  bool file_begins_ = false;
  bool end_of_file_ = false;
  bool paused_ = false;
  int failure_ = 0;      ///< errno of a read that failed
  std::string rest_;     ///< read but not yet delivered
  size_t searched_ = 0;  ///< bytes of rest_ known to hold no terminator
  uint64_t records_ = 0;
};

}  // namespace bert
