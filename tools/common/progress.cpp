#include "common/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "common/run.h"

namespace bert::tools {

Progress::Progress(bool forced, bool quiet) : shown_(!quiet && (forced || isatty(2))) {}

void Progress::update(uint64_t records, uint64_t bytes) {
  const Clock::time_point now = Clock::now();
  if (now - begin_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(200))
    return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const std::string line = fmt::format("\r{} records  {:.1f} MB  {:.0f} records/s  {:.0f} s\x1b[K",
                                       records, static_cast<double>(bytes) / 1e6,
                                       static_cast<double>(records) / seconds, seconds);
  [[maybe_unused]] const ssize_t n = ::write(2, line.data(), line.size());
}

void Progress::finish() {
  if (!drawn_) return;
  [[maybe_unused]] const ssize_t n = ::write(2, "\n", 1);
}

void report(const Counts& counts) {
  const auto say = [&](uint64_t count, uint64_t first, const char* what) {
    if (count == 0) return;
    const std::string where = first > 0 ? fmt::format(" (first: record {})", first) : "";
    notice(fmt::format("{} of {} records {}{}", count, counts.records, what, where));
  };
  say(counts.overflowed, counts.first_overflowed, "cut at the token limit");
  say(counts.invalid_utf8, counts.first_invalid_utf8,
      "had bytes that are not UTF-8, read as U+FFFD");
  say(counts.non_finite, 0, "gave a value that is not a number");
}

}  // namespace bert::tools
