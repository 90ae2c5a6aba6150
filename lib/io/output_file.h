#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace bert {

/// A file that appears whole or not at all: written beside its place under another name, brought to
/// the disk, then renamed, and the directory brought to the disk; where the system can, the name is
/// given only then, so that a process that is killed leaves nothing. Its mode is what the umask
/// says. A path that is a symbolic link keeps the link and replaces what it points to.
///
/// Throws Error (cannot_create, permission, io); the destructor removes what was not committed.
class BERT_API OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// All that was written is on the disk; what is left to commit() needs no room there. Of several
  /// files that belong together, each is finished before the first is committed.
  void finish();
  /// The file now stands at its path.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  bool unnamed_ = false;  ///< the file has no name yet
  bool finished_ = false;
  int fd_ = -1;
  std::vector<std::byte> buffer_;  ///< written when full

  void flush();
  void write_now(std::span<const std::byte> bytes);
};

/// All of `text` as such a file.
BERT_API void write_whole_file(const std::string& path, std::string_view text);

/// mkdir -p. Throws Error(cannot_create or permission).
BERT_API void make_directories(const std::string& path);
/// Brings the names in a directory to the disk.
BERT_API void sync_directory(const std::string& path);
/// Renames a directory whose files are on the disk; whole or not at all.
BERT_API void commit_directory(const std::string& temporary, const std::string& path);

/// A lock that one process at a time holds, on a file that names it. Freed when the process ends,
/// however it ends.
class BERT_API FileLock {
 public:
  /// Throws Error(try_again) naming the process that holds it.
  explicit FileLock(const std::string& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int fd_ = -1;
};

}  // namespace bert
