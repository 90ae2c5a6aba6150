#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"
#include "ops/matrix.h"

namespace bert {

/// Appends the numbers of a line, which are separated by tabs, to `out`. Throws Error(data) without
/// a place that names the field: all numbers are finite floats.
void read_numbers(std::string_view line, std::vector<float>& out);

/// How the lines of a file are read. They end with LF, or with NUL if there is no LF.
struct NumberLines {
  bool header = false;  ///< the first line names the columns
  int threads = 1;
};

/// A matrix [rows, cols] from a file: lines of numbers, or a NumPy file (npy) of one or two
/// dimensions; of one dimension it is a column. It has at least one row and column, and all numbers
/// are finite.
class NumberFile {
 public:
  /// `path` may also be "-", standard input, or a pipe. Throws Error (data, no_input, permission,
  /// io) that names the file and the record.
  static NumberFile open(const std::string& path, const NumberLines& lines);

  const std::string& path() const { return path_; }
  ConstMatrix matrix() const { return matrix_; }
  /// "keys.tsv" for messages; standard input is "-".
  size_t rows() const { return matrix_.rows; }
  size_t cols() const { return matrix_.cols; }

 private:
  void read_lines(std::string_view text, const NumberLines& lines);
  void read_array(std::span<const std::byte> bytes);
  void check_widths(std::string_view text, char terminator, size_t rows, size_t cols) const;
  [[noreturn]] void refuse_line(size_t index, const std::string& what) const;

  std::string path_;
  MappedFile mapped_;
  std::string bytes_;  ///< the bytes of a file that cannot be mapped
  Buffer values_;
  ConstMatrix matrix_;
};

/// Whether the file begins as a NumPy file. Of a pipe nothing is read away; false if it is empty,
/// or missing, which opening it will tell.
bool begins_as_npy(const std::string& path);

}  // namespace bert
