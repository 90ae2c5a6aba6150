#include "io/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/platform.h"

namespace bert {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

MappedFile MappedFile::open(const std::string& path, uint64_t max_bytes) {
  const auto not_regular = [&] { return Error(Error::Kind::no_input, path, "not a regular file"); };
  // Non-blocking: open() would wait for the writer of a FIFO, which is refused below anyway.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (file.fd < 0) {
    if (errno == ENXIO) throw not_regular();  // a socket
    throw Error::from_errno(path, "cannot open", errno);
  }
  struct stat status;
  if (::fstat(file.fd, &status) != 0) throw Error::from_errno(path, "cannot stat", errno);
  if (!S_ISREG(status.st_mode)) throw not_regular();
  const auto size = static_cast<uint64_t>(status.st_size);
  if (max_bytes != 0 && size > max_bytes) {
    throw Error(Error::Kind::data, path,
                fmt::format("{} bytes, wants at most {}", size, max_bytes));
  }
  MappedFile result;
  result.path_ = path;
  if (size == 0) return result;
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (memory == MAP_FAILED) throw Error::from_errno(path, "cannot map", errno);
  // The kernel may then cache the file in pages of 2 MB, which later processes map whole. The first
  // row of a large model comes in a third of the time.
  if (size >= kHugePage) platform::prefer_huge_pages(memory, size);
  result.data_ = static_cast<const std::byte*>(memory);
  result.size_ = size;
  return result;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::hold() {
  if (data_ == nullptr) return;
  const auto fail = [this] { throw Error::from_errno(path_, "cannot be held in memory", errno); };
  void* const mapping = const_cast<std::byte*>(data_);
  void* const copy =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) fail();
  std::memcpy(copy, mapping, size_);
  if (!platform::move_mapping(copy, mapping, size_)) {
    const int error_number = errno;
    ::munmap(copy, size_);
    errno = error_number;
    fail();
  }
}

namespace {

bool is_absent(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR || error_number == ENAMETOOLONG;
}

}  // namespace

bool entry_exists(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0) return true;
  const int reason = errno;
  if (reason != EACCES && reason != ELOOP && !is_absent(reason)) {
    throw Error::from_errno(path, "cannot stat", reason);
  }
  return false;
}

bool file_exists(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return true;
  const int reason = errno;
  if (!is_absent(reason)) throw Error::from_errno(path, "cannot open", reason);
  if (!entry_exists(path)) return false;
  throw Error(Error::Kind::no_input, path, "is a broken symbolic link");
}

}  // namespace bert
