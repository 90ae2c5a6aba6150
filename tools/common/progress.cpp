#include "common/progress.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "common/run.h"
#include "common/terminal.h"
#include "text/shown_text.h"

namespace bert::tools {
namespace {

std::function<std::vector<std::string>()> bad_weights;  // see explain_non_finite
std::string limit_source;                               // see explain_limit

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

constexpr int kKeep = 0;  // the field that is dropped last
constexpr int kBar = 4;

std::mutex mutex;          // guards `on_terminal` and the terminal
bool on_terminal = false;  // a line stands there, without its end

void put(std::string_view text) {
  [[maybe_unused]] const ssize_t n = ::write(2, text.data(), text.size());
}

std::string joined(const std::vector<ProgressField>& fields) {
  std::string line = name_of_tool() + ": ";
  for (const ProgressField& field : fields) {
    if (&field != &fields.front()) line += "  ";
    line += field.text;
  }
  return line;
}

/// The fields that fit into `columns`, and the tool's name if it still fits.
std::string fit(std::vector<ProgressField> fields, size_t columns) {
  const auto less = [](const auto& a, const auto& b) { return a.drop < b.drop; };
  std::string line = joined(fields);
  while (fields.size() > 1 && display_width(line) > columns) {
    fields.erase(std::max_element(fields.begin(), fields.end(), less));
    line = joined(fields);
  }
  return display_width(line) > columns ? cut_to(fields.front().text, columns) : line;
}

}  // namespace

ProgressLine::ProgressLine(bool forced, After after)
    : after_(after), terminal_(isatty(2) != 0), shown_(!quiet() && (forced || terminal_)) {}

double ProgressLine::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

bool ProgressLine::due(bool last) const {
  using namespace std::chrono_literals;
  if (!shown_) return false;
  if (!terminal_) return Clock::now() - last_.value_or(begin_) >= 10s;
  return last_ ? last || Clock::now() - *last_ >= 200ms : Clock::now() - begin_ >= 1s;
}

void ProgressLine::draw(std::vector<ProgressField> fields) {
  last_ = Clock::now();
  if (!terminal_) {
    std::erase_if(fields, [](const ProgressField& field) { return field.drop == kBar; });
    return put(joined(fields) + "\n");
  }
  const std::lock_guard lock(mutex);
  // A character in the last column would be erased by some terminals.
  put("\r" + fit(std::move(fields), terminal_width(2) - 1) + "\x1b[K");
  on_terminal = true;
}

void ProgressLine::end() {
  if (after_ == After::goes) return clear_progress();
  const std::lock_guard lock(mutex);
  if (on_terminal) put("\n");
  on_terminal = false;
}

void clear_progress() {
  const std::lock_guard lock(mutex);
  if (on_terminal) put("\r\x1b[K");
  on_terminal = false;
}

ProgressField bar(double done) {
  constexpr size_t kWidth = 24;
  const size_t full = std::min(kWidth, static_cast<size_t>(done * static_cast<double>(kWidth)));
  return {kBar, fmt::format("[{:#<{}}{:.<{}}]", "", full, "", kWidth - full)};
}

ProgressField time_left(double seconds) {
  const long left = static_cast<long>(seconds);
  return {kKeep, fmt::format("{}:{:02} left", left / 60, left % 60)};
}

std::vector<ProgressField> bar(double done, double timed, double seconds) {
  return {bar(done),
          {2, fmt::format("{:3.0f}%", std::floor(100 * done))},
          time_left(timed > 0 ? seconds * (1 - timed) / timed : 0)};
}

Progress::Progress(bool forced, const std::vector<std::string>& files)
    : line_(forced), total_(line_.shown() ? input_bytes(files) : 0) {}

void Progress::watch(StreamOptions& stream) {
  if (!shown()) return;
  stream.progress = [this](uint64_t records, uint64_t bytes) { update(records, bytes); };
  if (isatty(1) && !stream.write) {
    stream.write = [](std::string_view rows) { print(std::string(rows)); };
  }
}

void Progress::update(uint64_t records, uint64_t bytes) {
  if (!line_.due()) return;
  const double seconds = line_.seconds();
  std::vector<ProgressField> fields;
  if (total_ > 0) {
    const double done = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total_));
    fields = bar(done, done, seconds);
  }
  fields.push_back({total_ > 0 ? 3 : kKeep, fmt::format("{} records", records)});
  const double rate = static_cast<double>(records) / seconds;
  fields.push_back({5, fmt::format("{:.{}f} records/s", rate, rate < 10 ? 1 : 0)});
  fields.push_back({6, fmt::format("{:.0f} s", seconds)});
  line_.draw(std::move(fields));
}

void ByteProgress::update(const std::string& name, uint64_t done, uint64_t total) {
  if (!allowed_ || isatty(2) == 0) return;
  if (!line_ || total != total_) {  // the next model
    total_ = total;
    begin_bytes_ = done;
    line_.emplace(false, ProgressLine::After::goes);
  }
  if (!line_->due()) return;
  const double seconds = line_->seconds();
  const double came = static_cast<double>(done - std::min(done, begin_bytes_));
  const double part = static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(total, 1));
  // The rest of the time, from the bytes that came since the line's begin.
  const double of_rest = came / std::max(1.0, came + static_cast<double>(total - done));
  std::vector<ProgressField> fields = bar(part, of_rest, seconds);
  fields.push_back({5, fmt::format("{:.1f} MB", static_cast<double>(done) * 1e-6)});
  fields.push_back({6, fmt::format("{:.1f} MB/s", came * 1e-6 / seconds)});
  fields.push_back({3, cut_to(shown_text(name), 24)});
  line_->draw(std::move(fields));
}

void explain_non_finite(std::function<std::vector<std::string>()> function) {
  bad_weights = std::move(function);
}

void explain_limit(std::string source) { limit_source = std::move(source); }

void report(const Counts& counts, size_t max_length, bool names_file) {
  const auto say = [&](uint64_t count, const FirstRecord& first, const std::string& what) {
    if (count == 0) return;
    std::string where;
    if (first.number > 0 && names_file)
      where = fmt::format(" (first: {}: record {})", first.file, first.number_in_file);
    else if (first.number > 0)
      where = fmt::format(" (first: record {})", first.number);
    notice(fmt::format("{} of {} records {}{}", count, counts.records, what, where));
  };
  std::string limit = max_length > 0 ? fmt::format("{} tokens", max_length) : "";
  if (!limit_source.empty()) limit += (limit.empty() ? "" : ", ") + limit_source;
  say(counts.overflowed, counts.first_overflowed, "cut at " + limit);
  say(counts.invalid_utf8, counts.first_invalid_utf8,
      "had bytes that are not UTF-8, read as U+FFFD");
  say(counts.unknown, counts.first_unknown,
      "have more unknown tokens than known ones: the vocabulary is not for such text");
  say(counts.empty, counts.first_empty, "have no text, and so no target");
  say(counts.non_finite, {}, "gave a value that is not a number");
  if (counts.non_finite == 0 || !bad_weights) return;
  for (const std::string& weights : bad_weights()) notice(weights);
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
