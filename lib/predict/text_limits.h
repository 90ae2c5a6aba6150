#pragma once

#include <cstddef>

#include "predict/sequences.h"
#include "predict/task.h"

namespace bert {

/// What limits the texts that a model or a tokenizer reads, besides the user.
struct TextLimits {
  size_t positions = SIZE_MAX;  ///< tokens of a sequence that the model takes
  size_t own = SIZE_MAX;        ///< tokens of a sequence if the user says nothing; SIZE_MAX: any
  size_t added = 0;             ///< special tokens of a sequence
  bool truncates_left = false;  ///< the tokenizer's side of a text that is cut

  /// How texts are read within these limits, as a user asks. Throws Error if nothing of a text
  /// would be left.
  ReadOptions reading(const TaskRequest& request) const;
};

}  // namespace bert
