#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/mapped_file.h"
#include "io/number_lines.h"
#include "ops/dtype.h"
#include "ops/matrix.h"

namespace bert {

struct NpyArray;

/// What a file of bare numbers does not say of itself.
struct RawNumbers {
  DType type = DType::f32;
  size_t width = 0;  ///< numbers of a row
};

/// Numbers [rows, cols] in a file, read as floats: a NumPy file (npy), bare numbers or lines.
///
/// Thread rule: const after open; threads may read at the same time, each with its own scratch.
class BERT_API MatrixFile {
 public:
  MatrixFile() = default;
  /// Vectors as `embed --format` writes them, a row each: a NumPy file of floats, i8 or u8, or bare
  /// numbers, which `raw` describes. In u8 a number is 1 bit, the first in the highest bit of a
  /// byte (numpy.packbits); 1 stands for +1 and 0 for -1. The file stays mapped, and rows become
  /// floats when they are wanted, so memory holds a few tiles of them. Throws Error (data,
  /// no_input, permission) that names the file: no array of two dimensions, bytes that are no whole
  /// number of rows, no width known.
  static MatrixFile open_vectors(const std::string& path,
                                 const std::optional<RawNumbers>& raw = {});
  /// Numbers that are all finite: lines, or a NumPy file of one or two dimensions and any type; of
  /// one dimension it is a column. All are floats in memory, one row and column at least. `path`
  /// may also be "-", standard input, or a pipe. Throws Error (data, no_input, permission, io) that
  /// names the file and the record.
  static MatrixFile open_numbers(const std::string& path, const NumberLines& lines);

  const std::string& path() const { return path_; }
  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }
  /// The bytes of a mapped file, for a hash.
  std::span<const std::byte> bytes() const { return mapped_.bytes(); }

  /// All rows, as they lie in memory, not looked at; nullptr if there are no floats in place.
  const float* floats() const;
  /// The same after open_numbers().
  ConstMatrix matrix() const { return {floats(), rows_, cols_}; }
  /// Rows [first, first + count) as floats: those in place, or else written to `scratch`. Throws
  /// Error(data) that names the row of a number that is not finite as a float; rows count from 1.
  ConstMatrix read(size_t first, size_t count, Buffer& scratch) const;
  /// From now on a row with a number that is not finite is read as a row of `instead`; before
  /// threads read. Reads the file once.
  void replace_bad_rows(float instead);
  /// The rows that are replaced, ascending, from 0.
  const std::vector<size_t>& bad_rows() const { return bad_rows_; }

 private:
  explicit MatrixFile(const std::string& path) : path_(path) {}
  size_t row_bytes() const { return bits_ ? (cols_ + 7) / 8 : cols_ * dtype_size(type_); }
  void set(DType type, size_t rows, size_t cols, const void* data);
  void set_floats(ConstMatrix all);
  void take_vectors(const NpyArray& array);
  void take_raw(const RawNumbers& raw);
  void take_numbers(const NpyArray& array);
  void check_finite() const;
  void convert(size_t row, std::span<float> out) const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::string path_;
  MappedFile mapped_;
  std::string bytes_;  ///< the bytes of what cannot be mapped
  Buffer values_;
  DType type_ = DType::f32;
  bool bits_ = false;  ///< type_ is u8, and holds 8 numbers
  size_t rows_ = 0, cols_ = 0;
  const std::byte* data_ = nullptr;  ///< in the file or in values_
  std::optional<float> instead_;     ///< the numbers of bad rows
  std::vector<size_t> bad_rows_;
};

/// Whether the file begins as a NumPy file. Of a pipe nothing is read away; false if it is empty,
/// or missing, which opening it will tell.
BERT_API bool begins_as_npy(const std::string& path);

}  // namespace bert
