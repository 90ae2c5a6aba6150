#pragma once

#include "trainers/finetune.h"
#include "trainers/vector_examples.h"

namespace bert {

/// Sets the vectors that the model of options.teacher gives for each text, read as embed reads it,
/// as the targets. Throws Error (`teacher`) if they have not `width` numbers.
void ask_vector_teacher(const FinetuneOptions& options, size_t width, VectorExamples& examples);

}  // namespace bert
