#pragma once

#include "finetune/options.h"

namespace bert::tools {

/// Sets what is learned by the name of the loss, or by the task. Throws Error for the name of
/// another task's loss.
void set_loss(FinetuneArguments& arguments);

}  // namespace bert::tools
