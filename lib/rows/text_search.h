#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/export.h"
#include "io/cells.h"
#include "ops/matrix.h"
#include "pipeline/worker.h"
#include "rows/ranking.h"
#include "search/vector_search.h"

namespace bert {

/// A row of a neighbour; `line` stands before its text where queries are written whole.
struct NeighbourRow {
  uint64_t record = 0;
  size_t rank = 0;
  double score = 0;
  uint64_t neighbour = 0;
  std::string_view file = {}, text = {};
  const std::string* line = nullptr;
  BERT_API void cells(Cells& c) const;
};

/// What a search found. The index of a neighbour is its record's number - 1.
struct BERT_API SearchResult {
  std::vector<std::vector<Neighbour>> nearest;    ///< [Q] best first
  std::unordered_map<uint64_t, FoundText> texts;  ///< the record of each neighbour, by its index

  bool empty() const;
  /// Makes an entry in `texts` for each neighbour, for a PickWorker; without one, neighbours are
  /// rows of `file` and have no text.
  void expect_texts(const std::string& file);
  /// Of a search with one query, the text of which is not a record.
  void rank(TextRanking& ranking) const;
  /// A row per neighbour of query `query`, whose record has this number: record rank score
  /// neighbour text. With the `line` of the query: record rank score neighbour line text.
  void write_neighbours(size_t query, uint64_t number, Rows& rows, bool json,
                        const std::string* line = nullptr) const;
};

/// Searches in texts that come in a stream: keeps the nearest of each query and their texts, in
/// memory that does not grow with the stream. Vectors that are not finite are left out.
///
/// Thread rule: add() may be called from many threads; what is kept does not depend on the order.
class BERT_API TextSearch {
 public:
  /// Copies the queries [Q, D]. `whole_lines`: as of found_text().
  TextSearch(ConstMatrix queries, const VectorSearch::Options& options, bool whole_lines)
      : search_(queries, options), queries_(queries.rows), whole_lines_(whole_lines) {}
  void add(std::span<const Record> records, ConstMatrix vectors);
  SearchResult result();

 private:
  void forget_texts();

  std::mutex mutex_;
  VectorSearch search_;
  size_t queries_;  ///< Q
  bool whole_lines_;
  std::unordered_map<uint64_t, FoundText> texts_;  ///< texts of the nearest, and of records since
  size_t bytes_ = 0;                               ///< the size of texts_
  size_t most_texts_ = size_t{1} << 12,
         most_bytes_ = size_t{16} << 20;  ///< before some are forgotten
};

/// The record as a search writes it: its text, or its whole line.
BERT_API FoundText found_text(const Record& record, bool whole_line);

/// Takes the texts of records whose vectors come from a file of `vectors` rows. Throws Error(data)
/// for a record behind the last.
class BERT_API PickWorker : public Worker {
 public:
  /// Workers share `result`, whose entries expect_texts() made. `whole_lines`: as of found_text().
  PickWorker(SearchResult& result, size_t vectors, bool whole_lines)
      : result_(result), vectors_(vectors), whole_lines_(whole_lines) {}
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  SearchResult& result_;
  size_t vectors_;
  bool whole_lines_;
};

}  // namespace bert
