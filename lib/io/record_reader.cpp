#include "io/record_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bert {
namespace {

constexpr size_t kReadSize = 64 << 10;

bool would_block(int fd, int timeout_ms) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, timeout_ms) == 0;
}

}  // namespace

RecordReader::RecordReader(std::vector<std::string> files, char terminator,
                           std::function<void(const Error&)> on_skipped)
    : files_(std::move(files)), terminator_(terminator), on_skipped_(std::move(on_skipped)) {
  if (files_.empty()) files_.emplace_back("-");
}

RecordReader::~RecordReader() { close_file(); }

void RecordReader::close_file() {
  if (fd_ > 0) ::close(fd_);
  fd_ = -1;
}

bool RecordReader::open_next() {
  while (next_file_ < files_.size()) {
    name_ = &files_[next_file_++];
    fd_ = *name_ == "-" ? 0 : ::open(name_->c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (fd_ < 0) {
      on_skipped_(Error::from_errno(*name_, "cannot open", errno));
    } else if (fstat(fd_, &status) == 0 && S_ISDIR(status.st_mode)) {
      close_file();
      on_skipped_(Error(Error::Kind::no_input, *name_, "is a directory, wants a file of records"));
    } else {
      file_begins_ = true;
      end_of_file_ = false;
      rest_.clear();
      searched_ = 0;
      return true;
    }
  }
  return false;
}

/// Reads more into rest_.
void RecordReader::fill() {
  // Growing by doubling keeps a record of many megabytes linear.
  const size_t old = rest_.size();
  const size_t want = std::max(kReadSize, old / 2);
  rest_.resize(old + want);
  for (;;) {
    const ssize_t n = ::read(fd_, rest_.data() + old, want);
    if (n >= 0) {
      rest_.resize(old + static_cast<size_t>(n));
      end_of_file_ = n == 0;
      return;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      would_block(fd_, -1);
      continue;
    }
    const int error_number = errno;
    rest_.resize(old);
    // Thrown by next() once the whole records before it are delivered.
    failure_ = error_number;
    return;
  }
}

/// Moves whole records from rest_ to the chunk, until it has enough.
void RecordReader::cut(Chunk& chunk, size_t max_records, size_t max_bytes) {
  std::vector<size_t> stops;  // where each record's terminator is
  size_t end = 0;             // of the last whole record
  bool more = true;
  while (more && stops.size() < max_records && end < max_bytes) {
    const void* hit = searched_ < rest_.size() ? std::memchr(rest_.data() + searched_, terminator_,
                                                             rest_.size() - searched_)
                                               : nullptr;
    if (hit) {
      stops.push_back(static_cast<size_t>(static_cast<const char*>(hit) - rest_.data()));
      end = searched_ = stops.back() + 1;
    } else {
      searched_ = rest_.size();
      more = false;
      if (end_of_file_ && end < rest_.size()) {
        stops.push_back(rest_.size());
        end = rest_.size();
      }
    }
  }
  if (end == rest_.size()) {
    chunk.bytes = std::move(rest_);
    rest_.clear();
  } else {
    chunk.bytes.assign(rest_, 0, end);
    rest_.erase(0, end);
  }
  searched_ -= end;
  const char* begin = chunk.bytes.data();
  for (const size_t stop : stops) {
    const char* line_end = chunk.bytes.data() + stop;
    chunk.lines.emplace_back(begin, static_cast<size_t>(line_end - begin));
    begin = line_end + 1;
  }
}

bool RecordReader::next(Chunk& chunk, size_t max_records, size_t max_bytes,
                        const std::function<bool()>& keep_waiting) {
  chunk.lines.clear();
  chunk.bytes.clear();
  for (;;) {
    if (fd_ < 0 && !open_next()) return false;
    paused_ = false;
    // A chunk needs one whole record; past that it takes what comes without waiting.
    bool whole = has_terminator(searched_);
    while (!end_of_file_ && !failure_ && !(whole && rest_.size() >= max_bytes)) {
      if (whole && !wait_for_input(keep_waiting)) {
        paused_ = true;
        break;
      }
      const size_t before = rest_.size();
      if (!whole) searched_ = before;
      fill();
      whole = whole || has_terminator(before);
    }
    cut(chunk, max_records, max_bytes);
    if (end_of_file_ && rest_.empty()) {
      paused_ = next_file_ == files_.size();
      close_file();
    }
    if (chunk.lines.empty() && failure_) {
      throw Error::from_errno(fmt::format("{}: record {}", *name_, records_ + 1), "read error",
                              failure_);
    }
    if (chunk.lines.empty()) continue;
    chunk.file = name_;
    chunk.first_of_file = file_begins_;
    file_begins_ = false;
    chunk.first_number = records_ + 1;
    records_ += chunk.lines.size();
    return true;
  }
}

bool RecordReader::has_terminator(size_t from) const {
  return from < rest_.size() && std::memchr(rest_.data() + from, terminator_, rest_.size() - from);
}

/// False if input would block and nobody wants to wait for it.
bool RecordReader::wait_for_input(const std::function<bool()>& keep_waiting) const {
  while (would_block(fd_, 0)) {
    if (!keep_waiting()) return false;
    if (!would_block(fd_, 1)) break;
  }
  return true;
}

}  // namespace bert
