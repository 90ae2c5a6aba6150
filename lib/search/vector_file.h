#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/mapped_file.h"
#include "ops/matrix.h"
#include "search/vector_source.h"

namespace bert {

/// How a file holds vectors. In `bits` a component is 1 bit, the first in the highest bit of a byte
/// (numpy.packbits); 1 stands for +1 and 0 for -1.
enum class VectorType { f64, f32, f16, i8, bits };

/// What a raw file does not say of itself.
struct RawVectors {
  VectorType type = VectorType::f32;
  size_t width = 0;  ///< D
};

/// Vectors [N, D] in a file that stays mapped, as `embed --format` writes them: a NumPy file (<f8,
/// <f4, <f2, |i1; |u1 is bits, D / 8 bytes a row) or the bare numbers. Rows are read as floats when
/// they are wanted, so memory holds a few tiles of them.
///
/// Thread rule: const after open; threads may read at the same time, each with its own scratch.
class BERT_API VectorFile {
 public:
  /// `raw` is for files that are no NumPy files; a NumPy file tells it by itself. Throws Error
  /// (data, no_input, permission) that names the file: no array of two dimensions, bytes that are
  /// no whole number of rows, no width known.
  static VectorFile open(const std::string& path, const std::optional<RawVectors>& raw = {});

  const std::string& path() const { return file_.path(); }
  size_t rows() const { return rows_; }    ///< N
  size_t width() const { return width_; }  ///< D
  VectorType type() const { return type_; }
  /// The file's bytes, for a hash.
  std::span<const std::byte> bytes() const { return file_.bytes(); }

  /// All rows, [N, D], as they lie in the file, not looked at; nullptr if it has no floats in
  /// place.
  const float* floats() const;
  /// Rows [first, first + count) as floats [count, D]: those of the file where it holds floats in
  /// place, else written to `scratch`. Throws Error(data) that names the row of a number that is
  /// not finite as a float; rows count from 1.
  ConstMatrix read(size_t first, size_t count, Buffer& scratch) const;
  /// From now on a row with a number that is not finite is read as a row of `instead`; before
  /// threads read. Reads the file once.
  void replace_bad_rows(float instead);
  /// The rows that are replaced, ascending, from 0.
  const std::vector<size_t>& bad_rows() const { return bad_rows_; }

 private:
  void take_array();
  void take_raw(const RawVectors& raw);
  ConstMatrix convert_rows(size_t first, size_t count, Buffer& scratch) const;
  void convert(const std::byte* row, std::span<float> out) const;
  [[noreturn]] void refuse(const std::string& what) const;

  MappedFile file_;
  VectorType type_ = VectorType::f32;
  size_t rows_ = 0, width_ = 0;
  size_t row_bytes_ = 0;
  const std::byte* data_ = nullptr;
  bool replaces_bad_rows_ = false;
  float instead_ = 0;
  std::vector<size_t> bad_rows_;
};
/// `file` must outlive the source.
BERT_API VectorSource source_of(const VectorFile& file);

}  // namespace bert
