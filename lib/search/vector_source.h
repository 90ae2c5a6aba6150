#pragma once

#include <cstddef>
#include <functional>

#include "base/export.h"
#include "io/matrix_file.h"
#include "ops/matrix.h"

namespace bert {

/// Vectors [N, D] that are read in tiles: of a file (io/matrix_file.h), or of memory.
struct VectorSource {
  size_t rows = 0;   ///< N
  size_t width = 0;  ///< D
  /// Rows [first, first + count) as [count, D], in place or in `scratch`. Called by several
  /// threads.
  std::function<ConstMatrix(size_t first, size_t count, Buffer& scratch)> read;
};
/// `vectors` must outlive the source.
BERT_API VectorSource source_of(ConstMatrix vectors);
BERT_API VectorSource source_of(const MatrixFile& vectors);

}  // namespace bert
