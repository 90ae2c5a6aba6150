#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/worker.h"

namespace bert::tools {

/// A bar on stderr with rate and time left, drawn at most five times a second; only on a terminal
/// (or when forced), not when quiet, and not before a second has passed. The time left needs the
/// size of the input, so a pipe has none.
class Progress {
 public:
  Progress(bool forced, const std::vector<std::string>& files);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool shown() const { return shown_; }
  void update(uint64_t records, uint64_t bytes);
  /// Leaves the bar's line.
  void finish();
  /// Since the object was made.
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_;
  bool drawn_ = false;
  uint64_t total_ = 0;  // bytes of all input; 0: unknown
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

/// What report() calls when results were no numbers, to name the weights that are none. Scanning
/// them all before each run would cost more than opening the model.
void explain_non_finite(std::function<void()> explain);

/// One notice for each thing that the run counted: "3 of 1000 records cut at 512 tokens (first:
/// record 17)".
void report(const Counts& counts, size_t max_length);
/// "1000 records in 0.5 s, 2000 records/s, -j 4"
void report_speed(const Counts& counts, double seconds, int jobs);

}  // namespace bert::tools
