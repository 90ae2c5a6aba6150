#include "common/progress.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/run.h"

namespace bert::tools {
namespace {

std::function<void()> explain;  // see explain_non_finite

}  // namespace
namespace {

/// The size of all input; 0 unless every input is a regular file.
uint64_t input_bytes(const std::vector<std::string>& files) {
  uint64_t total = 0;
  const auto add = [&](bool found, const struct stat& status) {
    if (!found || !S_ISREG(status.st_mode)) return false;
    total += static_cast<uint64_t>(status.st_size);
    return true;
  };
  struct stat status {};
  if (files.empty()) return add(fstat(0, &status) == 0, status) ? total : 0;
  for (const std::string& file : files) {
    const int result = file == "-" ? fstat(0, &status) : stat(file.c_str(), &status);
    if (!add(result == 0, status)) return 0;
  }
  return total;
}

/// `done`: the part of the bar that is full. `timed`: the part of the work that took `seconds`.
std::string bar(double done, double timed, double seconds) {
  constexpr size_t kWidth = 24;
  const size_t full = std::min(kWidth, static_cast<size_t>(done * static_cast<double>(kWidth)));
  const long left = timed > 0 ? static_cast<long>(seconds * (1 - timed) / timed) : 0;
  return fmt::format("[{:#<{}}{:.<{}}] {:3.0f}%  {}:{:02} left  ", "", full, "", kWidth - full,
                     100 * done, left / 60, left % 60);
}

}  // namespace

Progress::Progress(bool forced, const std::vector<std::string>& files)
    : shown_(!quiet() && (forced || isatty(2))), total_(shown_ ? input_bytes(files) : 0) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Progress::update(uint64_t records, uint64_t bytes) {
  const Clock::time_point now = Clock::now();
  if (now - begin_ < std::chrono::seconds(1)) return;
  if (drawn_ && now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  drawn_ = true;
  const double elapsed = seconds();
  std::string line = "\r";
  if (total_ > 0) {
    const double done = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total_));
    line += bar(done, done, elapsed);
  }
  line += fmt::format("{} records  {:.0f} records/s  {:.0f} s\x1b[K", records,
                      static_cast<double>(records) / elapsed, elapsed);
  [[maybe_unused]] const ssize_t n = ::write(2, line.data(), line.size());
}

void Progress::finish() {
  if (!drawn_) return;
  drawn_ = false;
  [[maybe_unused]] const ssize_t n = ::write(2, "\n", 1);
}

ByteProgress::ByteProgress(bool allowed) : shown_(allowed && !quiet() && isatty(2)) {}

void ByteProgress::update(const std::string& name, uint64_t done, uint64_t total) {
  const Clock::time_point now = Clock::now();
  if (total != total_) {  // the next model
    total_ = total;
    begin_bytes_ = done;
    begin_ = now;
  }
  if (!shown_ || now - begin_ < std::chrono::seconds(1)) return;
  if (drawn_ && now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double came = static_cast<double>(done - std::min(done, begin_bytes_));
  const double part = static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(total, 1));
  // The rest of the time, from the bytes that came since `begin_`.
  const double of_rest = came / std::max(1.0, came + static_cast<double>(total - done));
  const std::string line =
      fmt::format("\r{}{:.1f} MB  {:.1f} MB/s  {:.17}\x1b[K", bar(part, of_rest, seconds),
                  static_cast<double>(done) * 1e-6, came * 1e-6 / seconds, printable(name));
  [[maybe_unused]] const ssize_t n = ::write(2, line.data(), line.size());
}

void ByteProgress::clear() {
  if (!drawn_) return;
  drawn_ = false;
  [[maybe_unused]] const ssize_t n = ::write(2, "\r\x1b[K", 4);
}

void explain_non_finite(std::function<void()> function) { explain = std::move(function); }

void report(const Counts& counts, size_t max_length) {
  const auto say = [&](uint64_t count, uint64_t first, const std::string& what) {
    if (count == 0) return;
    const std::string where = first > 0 ? fmt::format(" (first: record {})", first) : "";
    notice(fmt::format("{} of {} records {}{}", count, counts.records, what, where));
  };
  say(counts.overflowed, counts.first_overflowed, fmt::format("cut at {} tokens", max_length));
  say(counts.invalid_utf8, counts.first_invalid_utf8,
      "had bytes that are not UTF-8, read as U+FFFD");
  say(counts.unknown, counts.first_unknown,
      "have more unknown tokens than known ones: the vocabulary is not for such text");
  say(counts.non_finite, 0, "gave a value that is not a number");
  if (counts.non_finite > 0 && explain) explain();
}

void report_bad(uint64_t bad, uint64_t records, const std::string& first_bad, int& status) {
  if (bad == 0) return;
  complain(fmt::format("skipped {} of {} records; the first: {}", bad, records, first_bad));
  if (status == 0) status = static_cast<int>(Error::Kind::data);
}

void report_speed(const Counts& counts, double seconds, int jobs) {
  notice(fmt::format("{} records in {:.2f} s, {:.0f} records/s, -j {}", counts.records, seconds,
                     static_cast<double>(counts.records) / seconds, jobs));
}

}  // namespace bert::tools
