#include "hub/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "base/error.h"
#include "directory/file_names.h"
#include "io/hub_cache.h"
#include "io/mapped_file.h"
#include "io/output_file.h"

namespace bert {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 10;  // of what other processes may do at the same time
constexpr std::string_view kTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file is a cache directory tag created by bertutils.\n"
    "# For information about cache directory tags, see:\n"
    "#\thttps://bford.info/cachedir/\n";

[[noreturn]] void fail(const std::string& path, int error_number) {
  Error::Kind kind = Error::Kind::cannot_create;
  if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
    kind = Error::Kind::permission;
  }
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EIO) {
    kind = Error::Kind::io;
  }
  throw Error(kind, "", Error::from_errno(path, "cannot create", error_number).what());
}

bool has_size(const std::string& path, uint64_t size) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         static_cast<uint64_t>(status.st_size) == size;
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::string text_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";
  return std::string(MappedFile::open(path, 1 << 16).text());
}

/// The order in which files appear: those by which the tools know a model come last.
int rank(const RemoteFile& file) {
  return file.path == file_names::kConfig ? 2 : file.path == file_names::kModules ? 1 : 0;
}

}  // namespace

ModelCache::ModelCache(const std::string& cache, const std::string& name)
    : cache_(cache),
      folder_(cache + "/" + hub_folder(name)),
      locks_(cache + "/.locks/" + hub_folder(name)) {}

std::string ModelCache::snapshot(const std::string& commit) const {
  return folder_ + "/snapshots/" + commit;
}

std::string ModelCache::find(const std::string& commit, const RemoteFile& file) const {
  for (const std::string& path : {snapshot(commit) + "/" + file.path, blob(file)}) {
    if (has_size(path, file.size)) return path;
  }
  return "";
}

void ModelCache::prepare() const {
  make_directories(locks_);
  // huggingface_hub warns of a model's folder without snapshots/, so it appears with that.
  std::error_code error;
  const std::string unfinished = locks_ + "/folder.incomplete";
  for (int tries = 1; tries <= kMostTries && !fs::exists(folder_, error); ++tries) {
    try {
      make_directories(unfinished + "/snapshots");
    } catch (const Error&) {  // another process may have renamed it meanwhile
      if (tries == kMostTries) throw;
    }
    ::rename(unfinished.c_str(), folder_.c_str());
  }
  for (const char* part : {"/snapshots", "/blobs", "/refs"}) make_directories(folder_ + part);
  fs::remove_all(unfinished, error);
  const std::string tag = cache_ + "/CACHEDIR.TAG";
  if (fs::exists(tag, error)) return;
  try {
    publish(tag, std::string(kTag), folder_ + "/CACHEDIR.TAG.incomplete");
  } catch (const Error&) {  // it only tells backups what to leave out
  }
}

/// A text becomes the file `path` at once. Its beginnings lie in the model's own folder, since
/// huggingface_hub takes each file below refs/ for a branch, and each in the cache for a model.
/// Whoever writes to a file `unfinished` writes the same text, so no reader sees a part of it.
void ModelCache::publish(const std::string& path, const std::string& text,
                         const std::string& unfinished) const {
  const std::string parent = fs::path(path).parent_path();
  make_directories(parent);
  for (int tries = 0; text_of(path) != text; ++tries) {
    const int fd = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) fail(unfinished, errno);
    const bool written =
        ::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
        ::fsync(fd) == 0;
    const int number = errno;
    ::close(fd);
    if (!written) fail(unfinished, number);
    if (::rename(unfinished.c_str(), path.c_str()) == 0) break;
    if (errno != ENOENT || tries == kMostTries)
      fail(path, errno);  // ENOENT: another process was faster
  }
  sync_directory(parent);
}

/// False if another process has meanwhile renamed or removed the directory, or one in it.
bool ModelCache::place(const std::string& directory, const RemoteFile& file) const {
  const std::string path = directory + "/" + file.path;
  std::string target = "../../blobs/" + file.hash;
  for (const char c : file.path) {
    if (c == '/') target.insert(0, "../");
  }
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (::symlink(target.c_str(), path.c_str()) == 0) return true;
  if (errno == EEXIST) {
    if (fs::read_symlink(path, error) == target || has_size(path, file.size)) return true;
    ::unlink(path.c_str());  // a link to nothing, or a file of another size
    if (::symlink(target.c_str(), path.c_str()) == 0) return true;
  }
  if (errno == ENOENT) return false;
  fail(path, errno);
}

bool ModelCache::place_all(const std::string& directory,
                           const std::vector<RemoteFile>& files) const {
  std::vector<RemoteFile> ordered = files;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const RemoteFile& a, const RemoteFile& b) { return rank(a) < rank(b); });
  std::set<std::string> folders = {directory};
  for (const RemoteFile& file : ordered) {
    if (!place(directory, file)) return false;
    folders.insert((fs::path(directory) / file.path).parent_path());
  }
  for (const std::string& folder : folders) {
    try {
      sync_directory(folder);
    } catch (const Error&) {
      if (is_directory(folder)) throw;
      return false;
    }
  }
  return true;
}

void ModelCache::link(const std::string& commit, const std::vector<RemoteFile>& files) const {
  const std::string whole = snapshot(commit);
  const auto in_place = [&](const RemoteFile& file) {
    return has_size(whole + "/" + file.path, file.size);
  };
  if (std::all_of(files.begin(), files.end(), in_place)) return;
  // Every process that makes this snapshot makes the same links, so they may share the directory.
  const std::string unfinished = fmt::format("{}/{}.incomplete", folder_, commit);
  for (int tries = 0;; ++tries) {
    std::error_code error;
    const bool there = is_directory(whole);
    if (!there) fs::create_directory(unfinished, error);
    if (error) fail(unfinished, error.value());
    if (place_all(there ? whole : unfinished, files)) {
      if (there || ::rename(unfinished.c_str(), whole.c_str()) == 0) break;
      if (errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST) fail(whole, errno);
    }
    if (tries == kMostTries) fail(whole, errno);
  }
  std::error_code ignored;
  fs::remove_all(unfinished, ignored);
  sync_directory(folder_ + "/snapshots");
}

void ModelCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (revision == commit) return;
  const std::string path = folder_ + "/refs/" + revision;
  const std::string name = fs::path(revision).filename();
  publish(path, commit, fmt::format("{}/{}.{}.incomplete", folder_, name, commit));
}

void ModelCache::discard(const std::string& commit, const RemoteFile& file) const {
  const std::string path = snapshot(commit) + "/" + file.path;
  std::error_code error;
  if (!fs::is_symlink(path, error)) ::unlink(path.c_str());
  ::unlink(blob(file).c_str());
}

int DownloadLock::open_lock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
  if (fd < 0) fail(path, errno);
  ::fchmod(fd, 0664);  // as huggingface_hub: others of the group may wait, whatever the umask
  return fd;
}

bool DownloadLock::try_lock() const {
  return ::flock(fd_, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR);
}

void DownloadLock::pause() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

DownloadLock::~DownloadLock() { ::close(fd_); }

}  // namespace bert
