#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "directory/model_directory.h"
#include "ops/linear.h"

namespace bert {

struct QuantizeOptions {
  ModelDirectory model;  ///< to read
  std::string output;    ///< directory to write
  Precision precision = Precision::int8;
  std::string head;        ///< only this named head, which then is the directory's one; empty: all
  bool overwrite = false;  ///< where a model stands
};

/// Writes a model directory whose matrices are in the kernels' own order and of this precision, to
/// be computed with as the file holds them; with f32 a directory as transformers writes it. Throws
/// Error.
BERT_API void quantize(const QuantizeOptions& options);

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
/// that both have answer alike. Throws Error.
BERT_API std::vector<Agreement> compare_models(const CompareOptions& options);

}  // namespace bert
