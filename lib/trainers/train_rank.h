#pragma once

#include "trainers/finetune.h"

namespace bert {

/// Trains a cross-encoder on records of a query, a text and its label, and writes it as a directory
/// of a sentence-transformers CrossEncoder. The rest is finetune()'s.
bool train_rank(const FinetuneOptions& options);

}  // namespace bert
