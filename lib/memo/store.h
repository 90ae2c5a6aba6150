#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/export.h"

struct sqlite3;

namespace bert {

/// Rows that were computed before, in a file of SQLite. It can be looked at with sqlite3:
///
///   calls     id key   what a tool computes: its line of --meta
///   records   id call hash record rows rows_hash used   what it has made of a record, the XXH64 of
///             both, and when the rows were last used (Unix time, to the hour)
///
/// New rows are held in memory until save(), which writes them in one transaction. So a process
/// that is killed at any moment loses what was kept since the last save(), and nothing else.
/// Several processes may use the file at once. Every member but choose() may be called from any
/// thread. A file that may not be written can be read; then only save() of new rows fails.
///
/// Throws Error that names the file: data (no cache, or damaged), no_input, io, permission,
/// try_again (another process has locked it for a minute).
class BERT_API MemoStore {
 public:
  enum class Mode { create, existing };
  MemoStore(const std::string& path, Mode mode);
  ~MemoStore();
  MemoStore(const MemoStore&) = delete;
  MemoStore& operator=(const MemoStore&) = delete;

  /// Chooses the key of what find() and keep() are about.
  void choose(std::string_view key) { key_ = key; }
  /// The rows of a record, if they are there. Records are compared byte by byte.
  std::optional<std::string> find(std::string_view record);
  void keep(std::string_view record, std::string_view rows);
  void save();
  /// Whether something waits for save() for 200 ms, or is large.
  bool due() const;
  bool waits() const;  ///< whether something waits for save()

  struct Call {
    std::string key;
    uint64_t records, bytes;  ///< bytes of records and rows
    uint64_t days;            ///< since the last use of one of them
  };
  std::vector<Call> calls();
  /// Removes what was not used in the last `days` days, and gives its room back to the file system.
  /// Returns the number of records.
  uint64_t prune(uint64_t days);

 private:
  class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };

  [[noreturn]] void fail(int code) const;
  void execute(const char* sql);
  int64_t value(const char* sql);
  void connect(const std::string& name, int flags);
  void open(Mode mode);
  void create();
  void check();
  int64_t call_of_key();
  void save_now();

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<Statement> find_, insert_, touch_;
  std::string key_;
  mutable std::mutex mutex_;  ///< guards all of the following, and the statements
  std::unordered_map<std::string, std::string> unsaved_;  ///< rows by record
  std::vector<int64_t> used_;                             ///< ids of records that were read
  bool notes_use_ = true;                                 ///< used_ can be saved
  size_t bytes_ = 0;                                      ///< size of unsaved_
  int64_t first_unsaved_ = 0;                             ///< milliseconds
};

}  // namespace bert
