#pragma once

#include <string>

#include "training/bert_network.h"
#include "training/saving.h"

namespace bert::training {

/// adapter_config.json as PEFT writes it, for what LoRA changes in the model in the directory
/// `base`.
std::string adapter_config(const Layout& layout, const BertNetwork& network,
                           const std::string& base);

/// Writes a directory that PEFT loads: A and B of each matrix, the head's tensors whole, and
/// files.adapter, with which it is an adapter. config.json stands beside them for the labels.
void write_adapter(Learner& learner, const ModelFiles& files, const std::string& directory);

}  // namespace bert::training
