#pragma once

#include "trainers/finetune.h"

namespace bert {

/// finetune() for the task of vectors: a model learns vectors of texts from records of texts, and
/// is written as a directory of sentence-transformers.
bool train_vectors(const FinetuneOptions& options);

}  // namespace bert
