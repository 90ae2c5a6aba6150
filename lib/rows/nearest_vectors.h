#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/matrix_file.h"
#include "rows/text_model.h"
#include "rows/text_queries.h"
#include "rows/text_search.h"
#include "search/index.h"
#include "search/rounded_vectors.h"
#include "search/vector_groups.h"
#include "search/vector_join.h"
#include "search/vector_search.h"

namespace bert {

/// What `nearest` compares, and what it writes of that.
struct NearestOptions {
  enum class Mode { text, queries, pairs, groups, unique };
  Mode mode = Mode::text;
  std::string text;           ///< the query of Mode::text
  std::string queries;        ///< file of query texts
  std::string query_fields;   ///< the field of a query's text; empty: the whole line
  std::string query_vectors;  ///< or of their vectors
  std::string vectors;        ///< file of the vectors of the records; empty: of their texts
  RawNumbers raw;             ///< how they lie in a file that is no NumPy file
  std::string index;          ///< file of the vectors' index; empty: none
  bool exact = false;         ///< the index is one whose searches are exact
  size_t top_k = 10;
  std::optional<double> threshold;
  std::optional<Similarity> similarity;             ///< none: the model's, else cosine
  std::optional<std::string> query_prompt, prompt;  ///< none: the model's own
  bool skip_bad = false;                            ///< rows that are not finite are left out
  int threads = 1;
  std::string gold;  ///< file of relevance judgments of queries

  bool searches() const { return mode == Mode::text || mode == Mode::queries; }
  /// Whether a text goes through a model.
  bool reads_texts() const { return vectors.empty() || (searches() && query_vectors.empty()); }
};

/// The vectors of a run of `nearest`, wherever they come from: a model, files, an index.
///
/// Thread rule: one owner; it uses options.threads threads of its own.
class BERT_API NearestVectors {
 public:
  /// Opens the files, and builds the index if its file is missing; `notice` gets what is told of
  /// them. Borrows options and model; `model` is nullptr if no text is read. Throws Error as
  /// MatrixFile and VectorIndex do.
  NearestVectors(const NearestOptions& options, TextModel* model,
                 const std::function<void(const std::string&)>& notice);

  /// The vectors of the records; nullptr: they are of their texts.
  const MatrixFile* file() const { return file_ ? &*file_ : nullptr; }
  /// The files that decide the rows, as the model does.
  std::vector<std::string> files() const;

  /// Those of a file if the options name one, else those of `texts`.
  Queries queries(const QueryTexts& texts, Counts& counts) const;
  /// Throws Error(data) if they are not as wide as the records' vectors.
  void check(const Queries& queries) const;
  /// How a search in texts, or in the file, is done. Throws Error(usage) for an index of another
  /// similarity.
  VectorSearch::Options search_options(const Queries& queries) const;
  /// The nearest in the file.
  SearchResult search(const Queries& queries) const;
  /// Groups of the file's vectors; one that is not finite is alone, and its score is NaN.
  VectorGroups groups() const;
  /// Throws Error(data) unless the file has a vector for each of so many records.
  void check_records(uint64_t records) const;

 private:
  void open_index(const std::function<void(const std::string&)>& notice);

  const NearestOptions& options_;
  TextModel* const model_;
  std::optional<MatrixFile> file_, query_file_;
  std::optional<VectorIndex> index_;
  std::optional<RoundedVectors> rounded_;
};

}  // namespace bert
