#pragma once

#include "trainers/examples.h"

namespace bert {

/// SQuAD's JSON (1.1 or 2.0), flat questions in JSON (a line each), or lines of question, context,
/// answer and optionally the byte where the answer begins. Throws Error(data) if an answer that is
/// learned does not stand at its start, unless it may be looked for. Contexts that are too long
/// become overlapping windows.
ExampleSet read_questions(const ExampleOptions& options, const Tokenizer& tokenizer);

}  // namespace bert
