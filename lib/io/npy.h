#pragma once

#include <cstddef>
#include <string>

#include "base/export.h"

namespace bert {

/// The header of a NumPy file (format 1.0) of little-endian floats in C order, shape (rows,
/// columns). Always 128 bytes, so that it can be written first and patched when the number of rows
/// is known.
BERT_API std::string npy_header(size_t rows, size_t columns);

}  // namespace bert
