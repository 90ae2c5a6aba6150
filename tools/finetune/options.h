#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/command.h"
#include "trainers/finetune.h"

namespace bert::tools {

enum class FinetuneJob { classify, ner, qa, embed, rank };

/// The options of finetune as they were given, and what they come to.
struct FinetuneArguments {
  FinetuneJob job = FinetuneJob::classify;
  std::string model, fields, class_weights, labels, dims, prompts, loss;
  std::string lora_targets, seeds;
  bool pair = false, several = false, regression = false, bilstm = false, few_shot = false;
  BilstmConfig net{"-1", 256, 2};
  FinetuneOptions finetune;
  std::vector<uint64_t> seed_list;  ///< more runs than one
};
void add_finetune_options(Command& app, FinetuneArguments& arguments);

/// Completes `finetune`, and opens the model. Throws Error for options that do not go together, or
/// that the task does not read.
void settle(const Command& app, FinetuneArguments& arguments);

}  // namespace bert::tools
