#pragma once

#include "trainers/finetune_task.h"

namespace bert {

/// The one loop of all tasks of finetune: steps through shuffled examples, a row and a score after
/// each epoch, the best model so far, and the end. It goes on from a checkpoint, if the run has
/// one. Returns false when it was asked to stop (a checkpoint is saved). Throws Error.
bool run_epochs(FinetuneTask& task);

}  // namespace bert
