#include "io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/platform.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

std::string parent_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The target of the symbolic link `path`; `path` itself if it is not a link.
std::string resolve_link(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

[[noreturn]] void fail(const std::string& path, std::string_view action, Error::Kind kind) {
  const int number = errno;
  if (number == EACCES || number == EPERM || number == EROFS) kind = Error::Kind::permission;
  if (number == ENOSPC || number == EDQUOT || number == EIO) kind = Error::Kind::io;
  throw Error(kind, path, fmt::format("{}: {}", action, std::strerror(number)));
}

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{}.tmp.{}.{}", path, getpid(), count++);
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(resolve_link(path)) {
  struct stat there;
  if (stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    throw Error(Error::Kind::cannot_create, path, "cannot create: is there, but no regular file");
  }
  temporary_ = temporary_name(path_);
  fd_ = platform::open_unnamed(parent_of(path_));
  unnamed_ = fd_ >= 0;
  if (!unnamed_) fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail(path, "cannot create", Error::Kind::cannot_create);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty() && !unnamed_) unlink(temporary_.c_str());
}

/// Writes one huge page at a time: the page cache then keeps the file in huge pages, and a process
/// that maps it starts sooner.
void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t whole = buffer_.empty() ? bytes.size() / kHugePage * kHugePage : 0;
    if (whole > 0) write_now(bytes.first(whole));
    bytes = bytes.subspan(whole);
    const auto piece = bytes.first(std::min(bytes.size(), kHugePage - buffer_.size()));
    buffer_.insert(buffer_.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(piece.size());
    if (buffer_.size() == kHugePage) flush();
  }
}

void OutputFile::flush() {
  write_now(buffer_);
  buffer_.clear();
}

void OutputFile::write_now(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // The kernel takes at most 2 GiB at once.
    const ssize_t n = ::write(fd_, bytes.data(), std::min(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, "cannot write", Error::Kind::io);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void OutputFile::finish() {
  flush();
  if (fsync(fd_) != 0) fail(path_, "cannot sync to the disk", Error::Kind::io);
  finished_ = true;
}

void OutputFile::commit() {
  if (!finished_) finish();
  if (unnamed_) {
    if (!platform::give_name(fd_, temporary_)) {
      fail(path_, "cannot create", Error::Kind::cannot_create);
    }
    unnamed_ = false;
  }
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0) fail(path_, "cannot write", Error::Kind::io);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail(path_, "cannot create", Error::Kind::cannot_create);
  }
  temporary_.clear();
  sync_directory(parent_of(path_));
}

void write_whole_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

void make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path, error)) return;
  errno = error ? error.value() : ENOTDIR;
  fail(path, "cannot create directory", Error::Kind::cannot_create);
}

void sync_directory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(path, "cannot open directory", Error::Kind::io);
  const int result = fsync(fd);
  const int number = errno;
  close(fd);
  errno = number;
  // Some file systems cannot sync a directory.
  if (result != 0 && errno != EINVAL) fail(path, "cannot sync to the disk", Error::Kind::io);
}

void commit_directory(const std::string& temporary, const std::string& path) {
  sync_directory(temporary);
  // Where the system can, exchanges the two names in one step.
  const bool exchanged = platform::exchange_names(temporary, path);
  if (!exchanged) {
    if (errno != ENOENT) remove_directory(path);
    if (rename(temporary.c_str(), path.c_str()) != 0) {
      fail(path, "cannot create", Error::Kind::cannot_create);
    }
  }
  sync_directory(parent_of(path));
  std::error_code ignored;
  if (exchanged) std::filesystem::remove_all(temporary, ignored);
}

void remove_directory(const std::string& path) {
  const std::string gone = temporary_name(path);
  if (rename(path.c_str(), gone.c_str()) != 0) return;
  sync_directory(parent_of(path));
  std::error_code ignored;
  std::filesystem::remove_all(gone, ignored);
}

bool is_temporary_name(std::string_view name) {
  constexpr std::string_view kMark = ".tmp.";
  const size_t at = name.rfind(kMark);
  if (at == name.npos) return false;
  const std::string_view end = name.substr(at + kMark.size());
  const size_t dot = end.find('.');
  return dot != end.npos && dot > 0 && dot + 1 < end.size() &&
         std::count(end.begin(), end.end(), '.') == 1 &&
         end.find_first_not_of("0123456789.") == end.npos;
}

OutputDirectory::OutputDirectory(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (fs::path p = fs::path(path) / ""; p.has_relative_path(); p = p.parent_path()) {
    if (fs::exists(p, ignored)) break;
    if (p.has_filename()) made_.push_back(p.string());
  }
  make_directories(path);
}

OutputDirectory::~OutputDirectory() {
  for (const std::string& path : made_) rmdir(path.c_str());
}

FileLock::FileLock(const std::string& path) : path_(path) {
  struct stat held, named;
  do {  // repeats if the last holder removed the file before it was locked here
    if (fd_ >= 0) close(fd_);
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd_ < 0 && errno == ELOOP) {
      throw Error(Error::Kind::cannot_create, path, "is a symbolic link");
    }
    if (fd_ < 0) fail(path, "cannot create", Error::Kind::cannot_create);
    if (fstat(fd_, &held) != 0 || !S_ISREG(held.st_mode)) {
      close(fd_);
      throw Error(Error::Kind::cannot_create, path, "is no regular file");
    }
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      char text[32] = {};
      const ssize_t n = pread(fd_, text, sizeof text - 1, 0);
      close(fd_);
      const std::string pid(text, n > 0 ? std::strspn(text, "0123456789") : 0);
      throw Error(
          Error::Kind::try_again, path,
          fmt::format("process {} is making a model in this directory", pid.empty() ? "?" : pid));
    }
  } while (lstat(path.c_str(), &named) != 0 || named.st_ino != held.st_ino ||
           named.st_dev != held.st_dev);
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(fd_, 0) != 0 || pwrite(fd_, pid.data(), pid.size(), 0) < 0) {
    const int number = errno;
    unlink(path.c_str());
    close(fd_);
    errno = number;
    fail(path, "cannot write", Error::Kind::io);
  }
}

FileLock::~FileLock() {
  unlink(path_.c_str());
  close(fd_);
}

}  // namespace bert
