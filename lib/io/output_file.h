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
/// Gives a directory whose files are on the disk its name, whole or not at all. A directory that
/// has this name already is replaced, then removed.
BERT_API void commit_directory(const std::string& temporary, const std::string& path);
/// Removes a directory. It loses its name first, so that a process that is killed meanwhile leaves
/// no part of it under that name. What cannot be removed stays, without an error.
BERT_API void remove_directory(const std::string& path);
/// Whether `name` is one that only an unfinished write or removal has: NAME.tmp.PID.N.
BERT_API bool is_temporary_name(std::string_view name);

/// A directory to write to, made with its parents (mkdir -p) where it is not there. The destructor
/// removes those that it made and that are still empty: a run that is refused leaves nothing.
class BERT_API OutputDirectory {
 public:
  /// Throws Error(cannot_create or permission).
  explicit OutputDirectory(const std::string& path);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;
  ~OutputDirectory();

 private:
  std::vector<std::string> made_;  ///< the deepest first
};

/// A lock that one process at a time holds, on a file that names it. Freed when the process ends,
/// however it ends; the destructor removes the file.
class BERT_API FileLock {
 public:
  /// Throws Error: try_again naming the process that holds it; cannot_create where `path` is a
  /// symbolic link or no regular file.
  explicit FileLock(const std::string& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace bert
