#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/worker.h"

namespace bert::tools {

/// A progress bar on stderr with rate and time left. It appears after one second, at most five
/// times per second, only on a terminal (or if forced), and not with -q. The time left needs the
/// size of the input, so it is not shown for a pipe.
class Progress {
 public:
  Progress(bool forced, const std::vector<std::string>& files);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool shown() const { return shown_; }
  void update(uint64_t records, uint64_t bytes);
  /// Ends the line of the bar.
  void finish();
  /// Seconds since the object was made.
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_;
  bool drawn_ = false;
  uint64_t total_ = 0;  // bytes of all input; 0: unknown
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

/// The same bar for bytes that are loaded. It leaves nothing behind on the terminal.
class ByteProgress {
 public:
  explicit ByteProgress(bool allowed);
  ~ByteProgress() { clear(); }
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;

  /// `name`: what is on its way; `done`: bytes of all, which are `total`.
  void update(const std::string& name, uint64_t done, uint64_t total);
  /// Takes the bar away, for a message or at the end.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_;
  bool drawn_ = false;
  uint64_t total_ = 0, begin_bytes_ = 0;
  Clock::time_point begin_, last_;
};

/// Sets the function that report() calls if results were nan or infinite, to name the weights that
/// are. To scan all weights before each run would cost more than opening the model.
void explain_non_finite(std::function<void()> explain);

/// Writes a notice for each count of the run: "3 of 1000 records cut at 512 tokens (first: record
/// 17)".
void report(const Counts& counts, size_t max_length);
/// Says how many records were skipped, if any; a `status` of 0 is then that of bad data.
void report_bad(uint64_t bad, uint64_t records, const std::string& first_bad, int& status);
/// Writes "1000 records in 0.50 s, 2000 records/s, -j 4".
void report_speed(const Counts& counts, double seconds, int jobs);

}  // namespace bert::tools
