#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/export.h"
#include "training/learner.h"
#include "training/run.h"

namespace bert {

/// Several tasks learned at once over one trunk. Each step takes one batch of each task and
/// minimises the weighted sum of their losses.
struct MultitaskOptions {
  std::string model;   ///< directory to start from
  std::string tasks;   ///< file that lists them, see man/finetune.1, "Several tasks"
  std::string output;  ///< directory to write
  uint64_t steps = 10000;
  uint64_t eval_every = 500;
  training::LearnerOptions learner;
  double dropout = 0.1;
  double warmup_ratio = 0.1;
  bool resume = false, overwrite = false;
  uint64_t save_every = 1000;
  const std::atomic<int>* stop = nullptr;
  std::function<void(const training::StepReport&)> on_step;
  std::function<void(const std::string&)> on_notice;
  /// Every eval_every steps: a row of each task's score on its dev file. The first row names them.
  std::function<void(const std::string&)> on_row;
};

/// Returns false when it was asked to stop (a checkpoint is saved). Throws Error.
BERT_API bool finetune_tasks(const MultitaskOptions& options);

}  // namespace bert
