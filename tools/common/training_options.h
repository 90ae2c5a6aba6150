#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <string>

#include "training/learner.h"
#include "training/run.h"

namespace bert::tools {

/// Options of the tools that train:
///   --output, --batch-size, --lr, --schedule, --warmup, --weight-decay, --max-grad-norm,
///   --dropout,
///   --seed, --dtype, --save-steps, --resume, --overwrite, --max-batch-tokens, -j, --progress, -q
class TrainingOptions {
 public:
  /// `batches`: with --batch-size.
  explicit TrainingOptions(CLI::App& app, bool batches = true);

  training::LearnerOptions learner() const;
  std::string output;
  size_t batch_size = 32;
  double warmup = 0.1;  ///< part of the steps
  double dropout = 0.1;
  uint64_t save_every = 0;
  bool resume = false, overwrite = false;

  /// Becomes the number of the signal (SIGTERM, SIGINT) that asks the run to save and end.
  static const std::atomic<int>& stop_signal();
  /// Ends this process by that signal, as if nobody had caught it.
  [[noreturn]] static void end_by_signal();
  /// The bar: step, loss, rate, time left.
  void show(const training::StepReport& report);
  /// Speed and peak memory, on stderr.
  void report_end();

 private:
  training::OptimizerOptions optimizer_;
  uint64_t seed_ = 1;
  int jobs_ = 0;
  size_t pass_tokens_ = 2048;
  bool bf16_ = false;
  bool progress_ = false;
  std::chrono::steady_clock::time_point drawn_{};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool on_line_ = false;
  uint64_t tokens_ = 0;
  double loss_ = 0, weight_ = 0;
};

}  // namespace bert::tools
