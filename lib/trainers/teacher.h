#pragma once

#include "trainers/examples.h"
#include "trainers/finetune.h"

namespace bert {

/// Sets the logits that the model of options.teacher gives for each example, without dropout, in
/// the order of the student's labels. Throws Error (`teacher`) if its labels or its tokenizer are
/// others.
void ask_teacher(const FinetuneOptions& options, const Config& student, const Tokenizer& tokenizer,
                 ExampleSet& examples);

}  // namespace bert
