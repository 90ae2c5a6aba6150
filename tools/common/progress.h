#pragma once

#include <chrono>
#include <cstdint>

#include "pipeline/worker.h"

namespace bert::tools {

/// A line on stderr with records, rate and time, rewritten at most five times a second; only on a
/// terminal (or when forced), and not before a second has passed.
class Progress {
 public:
  Progress(bool forced, bool quiet);
  bool shown() const { return shown_; }
  void update(uint64_t records, uint64_t bytes);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

/// One notice for each thing that the run counted: "3 of 1000 records cut (first: record 17)".
void report(const Counts& counts);

}  // namespace bert::tools
