#pragma once

#include <optional>
#include <string>

#include "common/options.h"
#include "io/matrix_file.h"
#include "search/vector_search.h"

namespace bert::tools {

/// What `nearest` does, as its options say.
struct NearestOptions {
  enum class Mode { text, queries, pairs, groups, unique };
  Mode mode = Mode::text;
  std::string text;           ///< the query of Mode::text
  std::string queries;        ///< file of query texts
  std::string query_fields;   ///< the field of a query's text; empty: the whole line
  std::string query_vectors;  ///< or of their vectors
  std::string vectors;        ///< file of the vectors of the records; empty: of their texts
  RawNumbers raw;             ///< of vectors that are in no NumPy file
  std::string index;          ///< file of the vectors' index; empty: the search is exact
  size_t top_k = 10;
  std::optional<double> threshold;
  std::optional<Similarity> similarity;             ///< none: the model's, else cosine
  std::optional<std::string> query_prompt, prompt;  ///< none: the model's own
};

/// Runs the mode; returns the exit status.
int run_nearest(const NearestOptions& options, RowOptions& rows, const ModelOptions& models);

}  // namespace bert::tools
