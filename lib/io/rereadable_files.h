#pragma once

#include <string>
#include <vector>

#include "base/export.h"

namespace bert {

/// Input files that can be read twice. Those that are no regular files, such as pipes, are copied
/// to temporary files in $TMPDIR, which nobody sees and which vanish with the process.
class BERT_API RereadableFiles {
 public:
  /// Changes `files` to names that can be read twice. Standard input becomes its copy. Throws
  /// Error(io, cannot_create).
  explicit RereadableFiles(std::vector<std::string>& files);
  /// Goes back to the start of standard input, if it is read, and of the copies.
  void rewind() const;

 private:
  std::vector<int> copies_;
  long input_begin_ = -1;  ///< where standard input began; -1: it is not read
};

}  // namespace bert
