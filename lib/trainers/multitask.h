#pragma once

#include <string>

#include "io/input_kind.h"
#include "trainers/training_job.h"

namespace bert {

/// Several tasks learned at once over one trunk. Each step takes one batch of each task and
/// minimises the weighted sum of their losses.
struct MultitaskOptions : TrainingJob {
  std::string tasks;  ///< file that lists them, see man/multitask.1; each has its own batch size
  Wanted wanted = Wanted::text;  ///< kind of the tasks' files; other input is refused
  uint64_t steps = 10000;
  uint64_t eval_every = 500;  ///< steps between rows of each task's score on its dev files
};

/// Returns false when it was asked to stop (a checkpoint is saved). Throws Error.
bool finetune_tasks(const MultitaskOptions& options);

}  // namespace bert
