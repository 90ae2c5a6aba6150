#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "training/learner.h"
#include "training/run.h"

namespace bert {

/// What all kinds of training are told.
struct TrainingJob {
  std::string model;       ///< directory to start from
  std::string output;      ///< directory to write
  size_t batch_size = 32;  ///< sequences in a step
  training::LearnerOptions learner;
  double dropout = 0.1;       ///< rate
  double warmup_ratio = 0.1;  ///< part of the steps in which the learning rate rises
  bool resume = false, overwrite = false;
  uint64_t save_every = 0;  ///< steps; 0: only when it ends
  const std::atomic<int>* stop = nullptr;
  std::function<void(const training::StepReport&)> on_step;
  std::function<void(const std::string&)> on_notice;
  /// Rows of results; the first one names the columns.
  std::function<void(const std::string&)> on_row;

  /// The learner's options for a run of so many steps.
  training::LearnerOptions learner_options(uint64_t steps) const;
  /// What a run of `task` on data of this hash needs; checkpoints must agree in its identity.
  training::RunOptions run_options(const std::string& task, uint64_t data, uint64_t steps) const;
};

}  // namespace bert
