#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/export.h"
#include "io/matrix_file.h"
#include "ops/matrix.h"
#include "pipeline/stream.h"
#include "rows/text_model.h"

namespace bert {

/// Q queries of D numbers.
struct Queries {
  std::vector<float> values;                        ///< [Q, D]
  std::vector<uint64_t> numbers;                    ///< [Q] of their records
  size_t width = 0;                                 ///< D
  std::unordered_map<uint64_t, std::string> lines;  ///< the line of each record, if lines are kept
  std::vector<std::string> columns;  ///< the names of the lines' columns, if they have a header

  ConstMatrix matrix() const { return {values.data(), numbers.size(), width}; }
  void add(ConstMatrix vectors, size_t row, uint64_t number) {
    values.insert(values.end(), vectors.row(row), vectors.row(row) + vectors.cols);
    numbers.push_back(number);
  }
};

/// The texts of queries: one, or the records of a stream.
struct QueryTexts {
  std::string text;                   ///< empty: those of the stream
  std::string name;                   ///< what messages call the text
  StreamOptions stream;               ///< its lines are kept with stream.keeps_line
  std::optional<std::string> prompt;  ///< put before each; none: the model's own
};

/// Their vectors that are finite. Sets `counts` to what was found in the texts.
BERT_API Queries text_queries(const QueryTexts& texts, TextModel& model, Counts& counts);
/// The rows of a file that are finite.
BERT_API Queries vector_queries(const MatrixFile& file);

}  // namespace bert
