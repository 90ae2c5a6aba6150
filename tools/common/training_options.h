#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "common/command.h"
#include "common/progress.h"
#include "io/record_form.h"
#include "trainers/training_job.h"

namespace bert::tools {

/// What a tool does where the user gives no such option, for --help.
struct TrainingDefaults {
  const char* batch = "32";
  const char* rate = "5e-5";
  const char* dropout = "the config's";
};

/// Declares --header, --csv, --no-header and --jsonl. `keys`: those that --jsonl reads by default.
void add_record_form(Command& app, RecordForm& form, const std::string& keys);

/// The common options of the tools that train: --output, --batch-size, --lr, --schedule, --warmup,
/// --weight-decay, --max-grad-norm, --dropout, --seed, --dtype, --save-steps, --keep-checkpoints,
/// --resume, --overwrite, --max-batch-tokens, -j, --progress, -q
class TrainingOptions {
 public:
  /// `batches`: adds --batch-size.
  explicit TrainingOptions(Command& app, bool batches = true,
                           const TrainingDefaults& defaults = {});

  /// Sets the options that all tools share, trains, and reports speed and memory on stderr. After
  /// SIGTERM or SIGINT, `train` saves a checkpoint, and then the process ends by this signal.
  template <typename Options, typename Train>
  int train(Options& options, const Train& train) {
    fill(options);
    end(train(options));
    return 0;
  }

 private:
  void add_recipe(Command& app, bool batches, const TrainingDefaults& defaults);
  void add_running(Command& app);
  void fill(TrainingJob& job);
  void end(bool done);
  training::LearnerOptions learner() const;
  /// Holds the number of the signal that asks the run to save and end; 0: none.
  static const std::atomic<int>& stop_signal();
  /// Ends this process by that signal, as if it had not been caught.
  [[noreturn]] static void end_by_signal();
  /// Draws the bar: step, loss, rate, time left.
  void show(const training::StepReport& report);
  void report_end();

  std::string output_;
  size_t batch_size_ = 32;
  std::optional<size_t> keep_checkpoints_;
  CLI::Option* batch_option_ = nullptr;
  CLI::Option* rate_option_ = nullptr;
  double warmup_ = 0.1;  ///< share of the steps
  std::optional<double> dropout_;
  uint64_t save_every_ = 0;
  bool resume_ = false, overwrite_ = false;
  training::OptimizerOptions optimizer_;
  uint64_t seed_ = 1;
  int jobs_ = 0;
  size_t pass_tokens_ = 2048;
  bool bf16_ = false;
  bool progress_ = false;
  std::optional<ProgressLine> line_;  ///< from the first step on
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  uint64_t tokens_ = 0;
  double loss_ = 0, weight_ = 0;
};

}  // namespace bert::tools
