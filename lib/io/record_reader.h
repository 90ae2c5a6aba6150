#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/export.h"
#include "io/csv.h"
#include "io/input_kind.h"
#include "io/unpack.h"

namespace bert {

/// Whole records of one file, and their bytes.
struct Chunk {
  std::string bytes;
  std::vector<std::string_view> lines;  ///< into bytes, without terminators
  const std::string* file = nullptr;    ///< name for messages
  uint64_t first_number = 0;            ///< record number of lines[0], 1-based over all files
  uint64_t first_in_file = 0;           ///< the same, counted within its file

  /// lines[0] is the file's first record.
  bool first_of_file() const { return first_in_file == 1; }
};

/// The state of the workers while input would block.
///   none   all records are done: a reader with nothing to deliver may sleep
///   some   a worker is idle: the reader should deliver the records it has
///   all    every worker is busy: the reader may wait for more input at no cost
///   stop   the run has failed: the reader should stop
enum class Busy { none, some, all, stop };

/// What a record is: a line; a run of lines that are not empty, up to an empty line or the end; a
/// record of CSV, whose fields in quotes may have line ends; or as many bytes as a number and a TAB
/// before them say, which the record begins with.
enum class Framing { lines, paragraphs, csv, counted };

/// Reads files in turn ("-" or no file means stdin) and cuts them into records. Only the terminator
/// ends a record; a last record without it counts; a record never spans two files. A byte order
/// mark (UTF-8) at the start of a file is dropped. What is packed, or UTF-16 with a mark, is
/// unpacked (see Unpacker), unless anything is wanted.
class BERT_API RecordReader {
 public:
  /// Bytes of the longest record; a longer one is most likely not text (or -0 was meant).
  static constexpr size_t kLongestRecord = size_t{512} << 20;

  /// If a file cannot be opened, calls `on_skipped` with the error and goes on with the next file;
  /// without `on_skipped`, throws it. A file whose start is not what is `wanted` counts as one that
  /// cannot be opened.
  RecordReader(std::vector<std::string> files, char terminator,
               std::function<void(const Error&)> on_skipped = {}, Framing framing = Framing::lines,
               Wanted wanted = Wanted::lines);
  ~RecordReader();
  /// Of the files, those that are text are read whatever looks like data in them, and the others
  /// are left out without a word: what a search of folders found. The reader borrows the names.
  void set_found(const std::set<std::string>& found) { found_ = &found; }
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// Fills `chunk` with at most `max_records` records or about `max_bytes` bytes. If input would
  /// block, it asks `busy()` every few milliseconds until the answer is none, and delivers the
  /// records it has if a worker is idle. False at the end of all files, and after Busy::stop.
  /// Throws Error(io) if a read fails and Error(data) for a record over kLongestRecord, after the
  /// records before it were delivered. `sharers` threads process chunks in parallel: towards a
  /// known end chunks get smaller, so that all threads finish at about the same time.
  bool next(Chunk& chunk, size_t max_records, size_t max_bytes, const std::function<Busy()>& busy,
            size_t sharers = 1);

  /// Whether the last chunk was delivered because input would block, or is the last of all.
  bool paused() const { return paused_; }

 private:
  enum class Wait { readable, deliver, stopped };
  static constexpr size_t kUnknown = static_cast<size_t>(-1);

  bool open_next();
  void close_file();
  bool refuses_start();
  size_t left() const;
  size_t share(size_t max_bytes, size_t sharers) const;
  bool collect(size_t max_bytes, const std::function<Busy()>& busy);
  Wait wait_for_input(bool whole, const std::function<Busy()>& busy) const;
  void fill();
  bool read_into(std::string& bytes);
  void look_for_packing();
  void unpack();
  void drop_byte_order_mark();
  void cut(Chunk& chunk, size_t max_records, size_t max_bytes);
  bool has_terminator();
  bool has_empty_line();
  bool has_csv_record();
  bool has_counted_record();
  size_t unread() const { return bytes_.size() - begin_; }
  [[noreturn]] void fail() const;

  std::vector<std::string> files_;
  char terminator_;
  std::function<void(const Error&)> on_skipped_;
  Framing framing_;
  CsvScanner csv_;
  Wanted wanted_;
  const std::set<std::string>* found_ = nullptr;
  bool in_paragraph_ = false;  ///< the current record has a line that is not empty
  bool counted_ = false;       ///< searched_ is the end of a counted record
  size_t next_file_ = 0;
  int fd_ = -1;
  const std::string* name_ = nullptr;
  bool start_of_file_ = false;  ///< there may be a byte order mark
  bool start_seen_ = false;     ///< its first record was looked at
  bool end_of_file_ = false;
  size_t unread_of_file_ = 0;  ///< bytes not yet read of a regular file; else kUnknown
  bool paused_ = false;
  int failure_ = 0;                     ///< errno of a read that failed
  std::optional<Error> damage_;         ///< what the unpacker said; failure_ is then EBADMSG
  std::unique_ptr<Unpacker> unpacker_;  ///< set for a file that is packed
  std::string packed_;                  ///< bytes that are not unpacked yet, or that will tell
  uint64_t packed_before_ = 0;          ///< bytes of the file before them
  bool looks_for_packing_ = false;      ///< the first bytes are not there yet
  bool packed_end_ = false;             ///< the file has no more bytes than these
  bool more_unpacked_ = false;          ///< the unpacker may have more without another byte
  std::string bytes_;                   ///< bytes read; those from begin_ on are not yet delivered
  size_t begin_ = 0;
  size_t searched_ = 0;  ///< bytes_[begin_, searched_) has no terminator
  uint64_t records_ = 0;
  uint64_t records_before_ = 0;  ///< records of the files before this file
};

}  // namespace bert
