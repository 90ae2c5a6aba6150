#include "io/record_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/parse.h"

namespace bert {
namespace {

constexpr size_t kReadSize = 64 << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kLeastShare = 1 << 10;  // bytes of the smallest chunk that is worth a batch
constexpr int kShortWait = 1;  // milliseconds between two calls of busy() while records wait
constexpr int kLongWait = 20;  // the same while no record waits, to see a failure

/// Whether read() would block. Regular files, devices without poll() and broken descriptors count
/// as readable, so that read() reports their errors.
bool would_block(int fd, int timeout_ms) {
  pollfd p{fd, POLLIN, 0};
  const int ready = poll(&p, 1, timeout_ms);
  return ready == 0 || (ready < 0 && errno == EINTR);
}

}  // namespace

RecordReader::RecordReader(std::vector<std::string> files, char terminator,
                           std::function<void(const Error&)> on_skipped, Framing framing,
                           Wanted wanted)
    : files_(std::move(files)),
      terminator_(terminator),
      on_skipped_(on_skipped ? std::move(on_skipped) : [](const Error& error) { throw error; }),
      framing_(framing),
      wanted_(wanted) {
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
    fd_ = *name_ == "-" ? 0 : ::open(name_->c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status {};
    if (fd_ < 0) {
      const bool text = errno == ENOENT && name_->find(' ') != std::string::npos;
      on_skipped_(Error::from_errno(
          *name_, text ? "cannot open (a text itself is read from standard input)" : "cannot open",
          errno));
    } else if (fstat(fd_, &status) == 0 && S_ISDIR(status.st_mode)) {
      close_file();
      on_skipped_(Error(Error::Kind::no_input, *name_, "is a directory, wants a file of records"));
    } else {
      records_before_ = records_;
      start_of_file_ = true;
      end_of_file_ = in_paragraph_ = counted_ = start_seen_ = false;
      const off_t at = S_ISREG(status.st_mode) ? ::lseek(fd_, 0, SEEK_CUR) : -1;
      const bool known = at >= 0 && at <= status.st_size;
      unread_of_file_ = known ? static_cast<size_t>(status.st_size - at) : kUnknown;
      bytes_.clear();
      begin_ = searched_ = 0;
      csv_.restart();
      unpacker_.reset();
      packed_.clear();
      packed_before_ = 0;
      looks_for_packing_ = wanted_ != Wanted::anything;
      packed_end_ = more_unpacked_ = false;
      return true;
    }
  }
  return false;
}

/// Looks at the bytes that were read for the first record. If they are of another kind than is
/// wanted, goes on with the next file.
bool RecordReader::refuses_start() {
  if (start_seen_) return false;
  start_seen_ = true;
  const bool found = found_ && found_->contains(*name_);
  const std::string fault =
      refuse_input({std::string_view(bytes_).substr(begin_), terminator_, end_of_file_},
                   found && wanted_ != Wanted::anything ? Wanted::any_text : wanted_);
  if (fault.empty()) return false;
  close_file();
  failure_ = 0;
  if (found) return true;
  on_skipped_(Error(Error::Kind::data, *name_, fault));
  return true;
}

/// Reads from the file once.
void RecordReader::fill() {
  if (begin_ > 0) {
    bytes_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
  }
  if (looks_for_packing_) {
    look_for_packing();
  } else if (unpacker_) {
    unpack();
  } else {
    end_of_file_ = !read_into(bytes_);
  }
  if (start_of_file_) drop_byte_order_mark();
  // next() delivers the records before it, then throws: see fail().
  if (bytes_.size() > kLongestRecord) failure_ = EFBIG;
}

/// Reads once, to the end of `bytes`. False at the end of the file.
bool RecordReader::read_into(std::string& bytes) {
  // The string doubles its memory as it grows, so a record of many megabytes costs linear time.
  const size_t old = bytes.size();
  bytes.resize(old + kReadSize);
  ssize_t n;
  do {
    n = ::read(fd_, bytes.data() + old, kReadSize);
  } while (n < 0 && errno == EINTR);
  const bool again = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (n < 0 && !again) failure_ = errno;  // thrown after the whole records before it are delivered
  const size_t got = static_cast<size_t>(std::max<ssize_t>(n, 0));
  bytes.resize(old + got);
  if (unread_of_file_ != kUnknown) unread_of_file_ -= std::min(unread_of_file_, got);
  return n != 0;
}

/// Decides by the first bytes, which may come one at a time, whether the file is packed.
void RecordReader::look_for_packing() {
  packed_end_ = !read_into(packed_);
  const bool few = packed_.size() < Unpacker::kMagic && !packed_end_ && !failure_;
  if (few && Unpacker::may_begin(packed_)) return;
  looks_for_packing_ = false;
  unpacker_ = Unpacker::of(packed_);
  if (unpacker_) {
    unread_of_file_ = kUnknown;
    more_unpacked_ = true;
  } else {
    bytes_ = std::exchange(packed_, {});
    end_of_file_ = packed_end_;
  }
}

/// Unpacks once, and reads before that if there is nothing left.
void RecordReader::unpack() {
  if (!more_unpacked_ && !packed_end_) packed_end_ = !read_into(packed_);
  const size_t old = bytes_.size();
  bytes_.resize(old + kReadSize);
  std::string_view in = packed_;
  size_t got = 0;
  try {
    got = unpacker_->run(in, std::span(bytes_).subspan(old), packed_end_);
  } catch (const Error& error) {
    const uint64_t at = packed_before_ + (packed_.size() - in.size());
    damage_ = Error(Error::Kind::data, fmt::format("{}: byte {}", *name_, at), error.what());
    failure_ = EBADMSG;
  }
  bytes_.resize(old + got);
  packed_before_ += packed_.size() - in.size();
  packed_.erase(0, packed_.size() - in.size());
  more_unpacked_ = got > 0;
  end_of_file_ = got == 0 && packed_end_ && !failure_;
}

/// Drops the mark at the start of a file. Its bytes may come one at a time; none of them ends a
/// record.
void RecordReader::drop_byte_order_mark() {
  if (bytes_.starts_with(kByteOrderMark)) {
    bytes_.erase(0, kByteOrderMark.size());
    searched_ = 0;
    csv_.restart();
    start_of_file_ = false;
  } else {
    start_of_file_ = kByteOrderMark.starts_with(bytes_);
  }
}

void RecordReader::fail() const {
  if (failure_ == EBADMSG && damage_) throw Error(*damage_);
  const std::string where = fmt::format("{}: record {}", *name_, records_ - records_before_ + 1);
  if (failure_ == EFBIG) {
    throw Error(Error::Kind::data, where,
                fmt::format("is longer than {} bytes; {}", kLongestRecord,
                            terminator_ == '\n' ? "is it text?" : "do records end with NUL?"));
  }
  throw Error::from_errno(where, "read error", failure_);
}

/// Whether a whole record was read. searched_ is then its terminator, else the end of the bytes.
bool RecordReader::has_terminator() {
  if (framing_ == Framing::paragraphs) return has_empty_line();
  if (framing_ == Framing::csv) return has_csv_record();
  if (framing_ == Framing::counted) return has_counted_record();
  if (searched_ == bytes_.size()) return false;
  const char* hit = static_cast<const char*>(
      std::memchr(bytes_.data() + searched_, terminator_, bytes_.size() - searched_));
  searched_ = hit ? static_cast<size_t>(hit - bytes_.data()) : bytes_.size();
  return hit != nullptr;
}

/// The same for a paragraph. searched_ is then the end of its empty line, else the begin of the
/// line that is not whole.
bool RecordReader::has_empty_line() {
  for (size_t end; (end = bytes_.find(terminator_, searched_)) != bytes_.npos;) {
    const bool empty = bytes_.find_first_not_of(" \t\r", searched_) == end;
    searched_ = end;
    if (empty && in_paragraph_) return true;
    in_paragraph_ |= !empty;
    ++searched_;
  }
  return false;
}

bool RecordReader::has_csv_record() {
  if (searched_ == bytes_.size()) return false;
  searched_ = std::min(csv_.find_end(bytes_, searched_), bytes_.size());
  return searched_ < bytes_.size();
}

bool RecordReader::has_counted_record() {
  if (counted_) return true;
  std::string_view rest = std::string_view(bytes_).substr(searched_);
  const auto count = take_number<size_t>(rest);
  if (!count || *count > kLongestRecord || *count + 1 >= rest.size()) return false;
  searched_ = bytes_.size() - rest.size() + 1 + *count;
  return counted_ = true;
}

/// Waits for a byte or the end of the file. If a `whole` record is there, waits only while all
/// workers are busy.
RecordReader::Wait RecordReader::wait_for_input(bool whole,
                                                const std::function<Busy()>& busy) const {
  if (more_unpacked_ || packed_end_) return Wait::readable;
  for (int timeout = 0; would_block(fd_, timeout);) {
    const Busy now = busy();
    if (now == Busy::stop) return Wait::stopped;
    if (whole && now != Busy::all) return Wait::deliver;
    timeout = now == Busy::none ? -1 : whole ? kShortWait : kLongWait;
  }
  return Wait::readable;
}

/// Reads until there is one whole record, and then on while input comes without waiting, up to
/// `max_bytes`. False if the run was stopped.
bool RecordReader::collect(size_t max_bytes, const std::function<Busy()>& busy) {
  paused_ = false;
  bool whole = has_terminator();
  while (!end_of_file_ && !failure_ && !(whole && unread() >= max_bytes)) {
    const Wait wait = wait_for_input(whole, busy);
    if (wait == Wait::stopped) return false;
    if (wait == Wait::deliver) {
      paused_ = true;
      break;
    }
    fill();
    whole = whole || has_terminator();
  }
  return true;
}

/// Moves whole records to the chunk until the chunk is full.
void RecordReader::cut(Chunk& chunk, size_t max_records, size_t max_bytes) {
  std::vector<size_t> stops;  // the terminator of each record
  size_t end = begin_;        // end of the last whole record
  while (stops.size() < max_records && end - begin_ < max_bytes) {
    if (has_terminator()) {
      stops.push_back(searched_);
      end = ++searched_;
      in_paragraph_ = counted_ = false;
    } else {
      const bool rest = framing_ != Framing::paragraphs ||
                        bytes_.find_first_not_of(" \t\r\n", end) != bytes_.npos;
      if (end_of_file_ && !rest) bytes_.resize(end);  // empty lines are not a record
      if (end_of_file_ && end < bytes_.size()) {
        stops.push_back(bytes_.size());
        end = bytes_.size();
      }
      break;
    }
  }
  size_t start = 0;  // begin of chunk.bytes in bytes_
  if (begin_ == 0 && end == bytes_.size()) {
    chunk.bytes = std::move(bytes_);
    bytes_.clear();
    begin_ = searched_ = 0;
  } else {
    chunk.bytes.assign(bytes_, begin_, end - begin_);
    start = begin_;
    begin_ = end;
  }
  const std::string_view bytes = chunk.bytes;
  for (size_t at = 0; const size_t stop : stops) {
    chunk.lines.push_back(bytes.substr(at, stop - start - at));
    at = stop - start + 1;
  }
}

/// Bytes of all files that are not delivered yet, or kUnknown.
size_t RecordReader::left() const {
  if (next_file_ < files_.size()) return kUnknown;
  if (end_of_file_) return unread();
  return unread_of_file_ == kUnknown ? kUnknown : unread() + unread_of_file_;
}

/// Bytes of the next chunk. An input too short to be shared is one chunk.
size_t RecordReader::share(size_t max_bytes, size_t sharers) const {
  if (sharers == 1 || left() == kUnknown) return max_bytes;
  if (records_ == 0 && left() <= 2 * sharers * kLeastShare) return max_bytes;
  return std::min(max_bytes, std::max(kLeastShare, left() / (2 * sharers)));
}

bool RecordReader::next(Chunk& chunk, size_t max_records, size_t max_bytes,
                        const std::function<Busy()>& busy, size_t sharers) {
  chunk.lines.clear();
  chunk.bytes.clear();
  for (;;) {
    if (fd_ < 0 && !open_next()) return false;
    if (!collect(share(max_bytes, sharers), busy)) return false;
    if (refuses_start()) continue;
    cut(chunk, max_records, share(max_bytes, sharers));  // collect() may have found the end
    if (chunk.lines.empty() && failure_) fail();
    if (end_of_file_ && unread() == 0) {
      paused_ = next_file_ == files_.size();
      close_file();
    }
    if (chunk.lines.empty()) continue;
    chunk.file = name_;
    chunk.first_number = records_ + 1;
    chunk.first_in_file = chunk.first_number - records_before_;
    records_ += chunk.lines.size();
    return true;
  }
}

}  // namespace bert
