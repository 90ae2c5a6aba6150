#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "ops/dtype.h"

namespace bert {

/// The header of a NumPy file (format 1.0) of numbers in C order, shape (rows, columns). Always 128
/// bytes, so that it can be written first and patched when the number of rows is known. `descr`:
/// the numbers' type as NumPy spells it; else little-endian floats.
BERT_API std::string npy_header(size_t rows, size_t columns, std::string_view descr = "<f4");

/// The array of a NumPy file, inside the file's bytes.
struct NpyArray {
  DType type = DType::f32;
  bool fortran_order = false;  ///< columns one after the other, not rows
  std::vector<size_t> shape;
  std::span<const std::byte> bytes;  ///< as many as shape and type say
};

/// Whether a file with this beginning is a NumPy file.
BERT_API bool is_npy(std::string_view start);

/// The type as NumPy spells it: "<f4", "|u1".
std::string_view npy_name(DType type);

/// Reads the header of a NumPy file (formats 1.0 to 3.0) and checks it against the file's size.
/// Throws Error(data) that names `path`: also for types that are no plain numbers. `file` must
/// outlive the array.
BERT_API NpyArray read_npy(std::span<const std::byte> file, const std::string& path);

}  // namespace bert
