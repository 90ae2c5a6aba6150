#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/nearest_run.h"
#include "common/text_model.h"
#include "io/matrix_file.h"
#include "ops/matrix.h"

namespace bert::tools {

/// Q queries of D numbers.
struct Queries {
  std::vector<float> values;                        ///< [Q, D]
  std::vector<uint64_t> numbers;                    ///< [Q] of their records
  size_t width = 0;                                 ///< D
  std::unordered_map<uint64_t, std::string> lines;  ///< with --keep, of each record
  std::vector<std::string> columns;                 ///< with --keep and --header: of the lines

  ConstMatrix matrix() const { return {values.data(), numbers.size(), width}; }
  void add(ConstMatrix vectors, size_t row, uint64_t number) {
    values.insert(values.end(), vectors.row(row), vectors.row(row) + vectors.cols);
    numbers.push_back(number);
  }
};

/// The text of -q, or the records of --query. `keep`: with their lines.
Queries text_queries(const NearestOptions& options, RowOptions& rows, TextModel& model, bool keep);
/// The rows of --query-vectors that are finite.
Queries vector_queries(const MatrixFile& file);

}  // namespace bert::tools
