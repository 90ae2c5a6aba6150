#include "hub/partial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/parse.h"

namespace bert {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 1 << 20;  // bytes of one write, and the most that a killed process loses
constexpr auto kFresh = std::chrono::seconds(10);
constexpr std::string_view kEnd = "incomplete";
constexpr std::string_view kNoEtag = "-";

struct Leftover {
  std::string path, etag;
  uint64_t size;
  bool fresh;  ///< where locks do nothing, another process may still write to it
};

/// Those of this program; huggingface_hub's have no ETag in their names.
std::vector<Leftover> leftovers(const std::string& blobs, const std::string& hash) {
  std::vector<Leftover> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(blobs, error)) {
    const std::string name = entry.path().filename();
    const auto parts = split(name, '.');
    if (parts.size() != 4 || parts[0] != hash || parts[3] != kEnd) continue;
    if (!entry.is_regular_file(error) || error) continue;
    const uint64_t size = entry.file_size(error);
    if (error) continue;
    const auto written = entry.last_write_time(error);
    const bool fresh = !error && written > fs::file_time_type::clock::now() - kFresh;
    found.push_back({entry.path(), std::string(parts[1]), size, fresh});
  }
  return found;
}

/// The inside of a strong ETag, where it can be part of a file's name.
std::string name_of_etag(std::string_view etag) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  constexpr size_t kLongest = 100;
  if (etag.size() < 3 || etag.front() != '"' || etag.back() != '"') return std::string(kNoEtag);
  const std::string_view inside = etag.substr(1, etag.size() - 2);
  const bool fits = inside.size() <= kLongest && inside != kNoEtag &&
                    inside.find_first_not_of(kPlain) == inside.npos;
  return std::string(fits ? inside : kNoEtag);
}

uint64_t free_bytes(const std::string& directory) {
  struct statvfs status;
  if (statvfs(directory.c_str(), &status) != 0) return UINT64_MAX;
  return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace

Partial::Partial(const std::string& blobs, const RemoteFile& file)
    : blobs_(blobs), file_(file), etag_(kNoEtag), digest_(file.kind, file.size) {
  take_over();
}

Partial::~Partial() {
  try {
    flush();
  } catch (const Error&) {  // the next pull goes on from fewer bytes
  }
  close_file();
}

void Partial::close_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Partial::fail(const char* action, int error_number) {
  if (error_number == ENOSPC || error_number == EDQUOT) {
    buffer_.clear();
    close_file();
    ::unlink(path_.c_str());
  }
  const Error error = Error::from_errno(blobs_, action, error_number);
  throw Error(error.kind() == Error::Kind::permission ? error.kind() : Error::Kind::io, "",
              error.what());
}

std::string Partial::etag() const { return etag_ == kNoEtag ? "" : "\"" + etag_ + "\""; }

/// Copies while it hashes, so that whoever may still write to the old file changes nothing here.
void Partial::take_over() {
  std::vector<Leftover> all = leftovers(blobs_, file_.hash);
  // To remove what another process writes makes it begin again; without room, there is no choice.
  const bool room = free_bytes(blobs_) > file_.size;
  const auto remove = [&](const Leftover& old) {
    if (!room || !old.fresh) ::unlink(old.path.c_str());
  };
  std::erase_if(all, [&](const Leftover& old) {
    const bool useless = old.size == 0 || old.size > file_.size;
    if (useless) remove(old);
    return useless;
  });
  const auto longest = std::max_element(
      all.begin(), all.end(), [](const Leftover& a, const Leftover& b) { return a.size < b.size; });
  if (longest != all.end() && free_bytes(blobs_) > longest->size) {
    const int old = ::open(longest->path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    std::string block(kBlock, '\0');
    for (ssize_t n; old >= 0 && (n = ::read(old, block.data(), block.size())) > 0;) {
      if (size_ + static_cast<uint64_t>(n) > file_.size) break;
      if (fd_ < 0) create(longest->etag);
      write({block.data(), static_cast<size_t>(n)}, etag());
    }
    if (old >= 0) ::close(old);
  }
  for (const Leftover& old : all) remove(old);
}

void Partial::create(const std::string& etag) {
  std::random_device random;
  etag_ = etag;
  for (int tries = 0; tries < 10; ++tries) {
    path_ = fmt::format("{}/{}.{}.{:08x}.{}", blobs_, file_.hash, etag_, random(), kEnd);
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) return;
    if (errno != EEXIST) break;
  }
  fail("cannot create a file", errno);
}

void Partial::write(std::string_view bytes, const std::string& etag) {
  if (fd_ < 0) create(name_of_etag(etag));
  digest_.add(bytes);
  size_ += bytes.size();
  buffer_ += bytes;
  if (buffer_.size() >= kBlock) flush();
}

void Partial::flush() {
  for (std::string_view left = buffer_; fd_ >= 0 && !left.empty();) {
    const ssize_t n = ::write(fd_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot write", errno);
    left.remove_prefix(static_cast<size_t>(n));
  }
  buffer_.clear();
}

void Partial::restart() {
  buffer_.clear();
  close_file();
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
  etag_ = kNoEtag;
  size_ = 0;
  digest_ = Digest(file_.kind, file_.size);
}

std::string Partial::finish() {
  if (fd_ < 0) create(std::string(kNoEtag));  // of no bytes
  flush();
  return digest_.finish();
}

bool Partial::commit(const std::string& path) {
  if (::fsync(fd_) != 0) fail("cannot sync to the disk", errno);
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail("cannot write", errno);
  if (::rename(path_.c_str(), path.c_str()) != 0) {
    if (errno != ENOENT) fail("cannot create a file", errno);
    return false;
  }
  remove_all(blobs_, file_.hash);  // whoever still writes to one of these finds the whole file
  return true;
}

void Partial::remove_all(const std::string& blobs, const std::string& hash) {
  for (const Leftover& old : leftovers(blobs, hash)) ::unlink(old.path.c_str());
}

uint64_t Partial::bytes_of(const std::string& blobs, const std::string& hash) {
  uint64_t bytes = 0;
  for (const Leftover& old : leftovers(blobs, hash)) bytes += old.size;
  return bytes;
}

}  // namespace bert
