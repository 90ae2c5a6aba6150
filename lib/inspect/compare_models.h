#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/export.h"
#include "directory/model_directory.h"

namespace bert {

/// A number that says how alike two models are, over `count` lines.
struct Agreement {
  std::string what;
  double value = 0;
  size_t count = 0;
};

struct CompareOptions {
  ModelDirectory original, other;  ///< the first is computed with in f32
  std::string head;  ///< name of the original's head that is the other's only one; empty: all heads
  std::vector<std::string> files;  ///< lines of text; those with a tab: question and context
  int threads = 1;
};

/// Runs both models over all lines: the cosine of their sentence vectors, and how often the heads
/// that both have answer alike; of models that translate, their translations. Throws Error.
BERT_API std::vector<Agreement> compare_models(const CompareOptions& options);

}  // namespace bert
