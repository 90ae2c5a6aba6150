#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/export.h"
#include "pipeline/worker.h"
#include "rows/task_worker.h"
#include "rows/text_vectors.h"
#include "search/vector_groups.h"
#include "search/vector_join.h"

namespace bert {

/// In VectorGroups::first: the record has no vector.
constexpr uint64_t kNoGroup = std::numeric_limits<uint64_t>::max();

/// Groups of records. A record whose vector is not finite is alone, and its score is NaN.
BERT_API VectorGroups group_texts(const TextVectors& vectors, double threshold, int threads);

/// A row of a record's group, which is named by the number of its first record.
struct GroupRow {
  uint64_t group = 0;
  double score = 0;
  void cells(Cells& c) const { c.count("group", group).number("score", score); }
};

/// A row of two vectors that are alike.
struct PairedRow {
  uint64_t record = 0, neighbour = 0;
  double score = 0;
  void cells(Cells& c) const {
    c.count("record", record).count("neighbour", neighbour).number("score", score);
  }
};

/// Writes the group of each record, group score >, or only the lines of the records that are the
/// first of their group. A group is named by the number of its first record. Throws Error(data) for
/// a record without a vector.
class BERT_API GroupWorker : public Worker {
 public:
  /// `options` says how rows are framed.
  GroupWorker(const VectorGroups& groups, bool only_first, const TaskOptions& options)
      : groups_(groups), only_first_(only_first), options_(options) {}
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  const VectorGroups& groups_;
  const bool only_first_;
  const TaskOptions options_;
};

/// One row: group score, of the vectors of a file that stand for no lines.
BERT_API void write_group(const VectorGroups& groups, size_t row, const TaskOptions& options,
                          Rows& rows);
/// One row of a pair.
inline void write_pair(const VectorPair& pair, bool json, Rows& rows) {
  add_row(rows, json, PairedRow{pair.first + 1, pair.second + 1, pair.score});
}

}  // namespace bert
