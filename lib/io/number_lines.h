#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "ops/matrix.h"

namespace bert {

/// Appends the numbers of a line, which are separated by tabs, to `out`. Throws Error(data) without
/// a place that names the field: all numbers are finite floats.
BERT_API void read_numbers(std::string_view line, std::vector<float>& out);

/// How the lines of a file are read. They end with LF, or with NUL if there is no LF.
struct NumberLines {
  bool header = false;  ///< the first line names the columns
  int threads = 1;
};

/// The numbers of a whole file as a matrix in `values`, a row for each line. Throws Error(data)
/// that names the file, and the record.
Matrix read_number_lines(std::string_view text, const std::string& path, const NumberLines& lines,
                         Buffer& values);

}  // namespace bert
