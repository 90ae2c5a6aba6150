#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/stream.h"

namespace bert::tools {

/// A part of the line that shows progress.
struct ProgressField {
  int drop;  ///< the field with the highest number goes first where the terminal is narrow
  std::string text;
};

/// One line on stderr that is written over and over: the tool's name, then fields. It appears
/// after one second, at most five times per second, and not with -q. It asks the terminal for its
/// width each time, and drops fields until it fits. If stderr is no terminal but `forced`, it is a
/// plain line every ten seconds. A message takes the line away first.
class ProgressLine {
 public:
  enum class After { stays, goes };  ///< what becomes of the line at the end

  explicit ProgressLine(bool forced, After after = After::stays);
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool shown() const { return shown_; }
  /// Whether it is time to draw. The `last` line is drawn in any case if there was one before it.
  bool due(bool last = false) const;
  void draw(std::vector<ProgressField> fields);
  /// Ends the line.
  void end();
  /// Seconds since the object was made.
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  After after_;
  bool terminal_, shown_;
  Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> last_;
};

/// The fields of a bar, of the percentage and of the time left. `done`: the part of the work that
/// is done. `timed`: the part that took `seconds`.
std::vector<ProgressField> bar(double done, double timed, double seconds);
ProgressField time_left(double seconds);
/// The bar alone.
ProgressField bar(double done);

/// Takes this process's line off the terminal, if there is one, before other text is written there.
void clear_progress();

/// Records with their rate. The time left needs the size of the input, so it is not shown for a
/// pipe.
class Progress {
 public:
  Progress(bool forced, const std::vector<std::string>& files);

  bool shown() const { return line_.shown(); }
  /// Shows the progress of a stream whose rows may stand on the same terminal.
  void watch(StreamOptions& stream);
  /// `records` and `bytes` whose rows are written.
  void update(uint64_t records, uint64_t bytes);
  void finish() { line_.end(); }
  double seconds() const { return line_.seconds(); }

 private:
  ProgressLine line_;
  uint64_t total_;  // bytes of all input; 0: unknown
};

/// The same for bytes that are loaded. It leaves nothing behind on the terminal.
class ByteProgress {
 public:
  explicit ByteProgress(bool allowed) : allowed_(allowed) {}

  /// `name`: what is on its way; `done`: bytes of all, which are `total`.
  void update(const std::string& name, uint64_t done, uint64_t total);

 private:
  bool allowed_;
  std::optional<ProgressLine> line_;  // of the model that is on its way
  uint64_t total_ = 0, begin_bytes_ = 0;
};

/// Sets the function that report() asks, if results were nan or infinite, for the weights that are;
/// it may be empty. To scan all weights before each run would cost more than opening the model.
void explain_non_finite(std::function<std::vector<std::string>()> bad_weights);

/// Writes a notice for each count of the run: "3 of 1000 records cut at 512 tokens (first: record
/// 17)"; with `names_file` "(first: FILE: record 3)", 3 counted in the file.
void report(const Counts& counts, size_t max_length, bool names_file = false);
/// From here on the report of texts that were cut says where the limit stands: "KEY of FILE".
void explain_limit(std::string source);
/// Says how many records were skipped, if any; a `status` of 0 is then that of bad data.
void report_bad(uint64_t bad, uint64_t records, const std::string& first_bad, int& status);
/// Writes "1000 records in 0.50 s, 2000 records/s, -j 4".
void report_speed(const Counts& counts, double seconds, int jobs);

}  // namespace bert::tools
