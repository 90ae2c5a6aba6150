#pragma once

#include <cstdint>
#include <string>

#include "base/export.h"
#include "io/matrix_file.h"

namespace bert {

/// Writes the index of `vectors` (VectorIndex). `model`: a hash of the model that made them, or 0.
/// The graph depends on the order in which threads add vectors: two builds may differ unless there
/// is one thread. Throws Error as OutputFile; data if there are no vectors.
BERT_API void build_index(const std::string& path, const MatrixFile& vectors, uint64_t model,
                          int threads);

}  // namespace bert
