#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/export.h"
#include "io/record_reader.h"
#include "memo/co_process.h"
#include "memo/store.h"

namespace bert {

struct MemoOptions {
  std::vector<std::string> files;  ///< empty: stdin; "-": stdin
  /// Called with the error of a file that cannot be opened; the run goes on with the other files.
  std::function<void(const Error&)> on_skipped;
  /// Called with the records and bytes of the input that are done, from two threads in turn.
  std::function<void(uint64_t records, uint64_t bytes)> progress;
  int output_fd = 1;
};

struct MemoCounts {
  uint64_t records = 0;
  uint64_t computed = 0;  ///< records whose rows were not in the store
  uint64_t bad = 0;
  std::string first_bad;  ///< the message of the first bad record
};

/// Writes the rows of all records in their order: those that the store has from there, the others
/// as the tool computes them. The main thread reads records and sends those that the store lacks,
/// a second thread receives replies; whichever completes the first record that waits, writes.
/// Memory is bounded: 64 MB of records and rows that wait, or the longest record.
class BERT_API Memo {
 public:
  Memo(const MemoOptions& options, const Greeting& greeting, CoProcess& tool, MemoStore& store);

  /// Returns the exit status of the tool. If it is not 0, the rows before the record that ended the
  /// tool are written. Throws Error(io) if reading or writing fails; Error(data) for a file with
  /// another header than the first; Error(protocol) if the tool's replies are not the wanted ones.
  /// The store is saved in any case.
  int run();
  const MemoCounts& counts() const { return counts_; }
  /// What the store could not keep any more, while the run went on without it.
  const std::optional<Error>& lost() const { return lost_; }

 private:
  /// A record whose rows are not written yet.
  struct Entry {
    uint64_t number;
    uint64_t bytes;                 ///< place in the input behind the record
    std::string line = {};          ///< empty if the store has its rows
    std::string rows = {};          ///< with their numbers, once it is done
    std::vector<Entry*> same = {};  ///< later records that are equal to it, and wait for its rows
    bool done = false;
  };

  void read();
  void take(const Chunk& chunk, std::string& requests);
  void take_header(const Record& header, std::string& requests);
  void take_record(const Record& record, std::string& requests);
  Entry& add(const Record& record);
  void wait_for_room();
  Busy how_busy();
  void receive();
  void answer(Reply& reply);
  void finish(Entry& entry, std::string_view rows);
  void write_done(std::unique_lock<std::mutex>& lock);
  void save();
  std::string numbered(uint64_t number, std::string_view rows) const;
  void stop(std::exception_ptr error);

  const MemoOptions& options_;
  const Greeting& greeting_;
  CoProcess& tool_;
  MemoStore& store_;
  std::optional<std::string> header_;
  uint64_t headers_ = 0;
  uint64_t read_ = 0;  ///< bytes of records read
  MemoCounts counts_;

  std::mutex mutex_;  ///< guards all below
  std::condition_variable room_;
  std::deque<Entry> entries_;  ///< in input order
  std::deque<Entry*> asked_;   ///< records that the tool computes
  std::unordered_map<std::string_view, Entry*> asked_by_line_;
  size_t held_ = 0;       ///< bytes of entries
  uint64_t written_ = 0;  ///< records
  bool writing_ = false;
  bool ended_ = false;  ///< the tool replies no more
  std::exception_ptr error_;
  std::optional<Error> lost_;
  std::atomic<bool> keeps_ = true;  ///< the store takes rows
};

}  // namespace bert
