#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace bert {

/// A file that appears whole or not at all. It is written in its directory under another name,
/// synced to the disk and then renamed; then the directory is synced. On systems that can do so,
/// the file has no name before that, so a killed process leaves nothing. The umask gives its mode.
/// If the path is a symbolic link, the link stays and its target is replaced. Only a regular file
/// is replaced, never a device, a pipe or a directory.
///
/// Throws Error (cannot_create, permission, io); the destructor removes what was not committed.
class BERT_API OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Syncs all that was written to the disk, so that commit() needs no more room there. A writer of
  /// several files that belong together finishes each before it commits the first.
  void finish();
  /// Puts the file at its path.
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

/// Writes `text` as an OutputFile.
BERT_API void write_whole_file(const std::string& path, std::string_view text);

/// mkdir -p. Throws Error(cannot_create or permission).
BERT_API void make_directories(const std::string& path);
/// Syncs the entries of a directory to the disk.
BERT_API void sync_directory(const std::string& path);
/// Renames a directory, whose files are on the disk, to `path`, whole or not at all. A directory
/// that is already at `path` is replaced, then removed.
BERT_API void commit_directory(const std::string& temporary, const std::string& path);
/// Removes a directory. It gets a temporary name first, so that a killed process leaves no part of
/// it at `path`. Files that cannot be removed stay, without an error.
BERT_API void remove_directory(const std::string& path);
/// Whether `name` has the form NAME.tmp.PID.N, which only an unfinished write or removal leaves.
BERT_API bool is_temporary_name(std::string_view name);

/// A directory to write to, made with its parents (mkdir -p) if it is missing. The destructor
/// removes the directories it made that are still empty, so a refused run leaves nothing.
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

/// A lock file that one process at a time holds; the file contains its process id. The lock ends
/// with the process, also if it is killed; the destructor removes the file.
class BERT_API FileLock {
 public:
  /// Throws Error: try_again, naming the process that holds the lock; cannot_create if `path` is a
  /// symbolic link or not a regular file.
  explicit FileLock(const std::string& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace bert
