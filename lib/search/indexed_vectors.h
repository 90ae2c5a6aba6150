#pragma once

#include <cstdint>
#include <string>

#include "io/matrix_file.h"

namespace bert {

/// How an index knows its vectors, as the begin of its file has it: by the time and size of their
/// file and by a sample of its bytes, which is the whole file up to 64 MiB; if the time differs, by
/// the xxh64 of the whole file.
struct IndexedVectors {
  uint64_t vectors = 0, time = 0;  ///< xxh64 of their file; when it was changed, nanoseconds
  uint64_t sample = 0;             ///< hash of some of the file's bytes
  uint64_t model = 0;              ///< hash of the model that made them; 0: not known
  uint64_t rows = 0, width = 0;

  /// Reads the whole file. Throws Error(data) if it has no vectors.
  static IndexedVectors of(const MatrixFile& vectors, uint64_t model);
  /// Throws Error(data) that names the file of the index unless it is of these vectors and of this
  /// model; a model of 0 fits all.
  void check(const std::string& index, const MatrixFile& vectors, uint64_t wanted_model) const;
};

}  // namespace bert
