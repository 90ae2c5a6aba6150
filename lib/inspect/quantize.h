#pragma once

#include <string>

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

}  // namespace bert
