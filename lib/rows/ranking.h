#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/cells.h"
#include "pipeline/surroundings.h"

namespace bert {

/// The best entries of a search over many records, in memory that does not grow with them. An Entry
/// has a `score` and the `number` of its record over all files; equal scores stand in the order of
/// their records.
///
/// Thread rule: add() may be called from many threads; what is kept does not depend on the order.
template <typename Entry>
class Ranking {
 public:
  explicit Ranking(size_t capacity) : capacity_(capacity) {}

  /// The score is a number, not NaN.
  void add(Entry entry) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() == capacity_) {
      if (!better(entry, entries_.front())) return;
      std::pop_heap(entries_.begin(), entries_.end(), better);
      entries_.pop_back();
    }
    entries_.push_back(std::move(entry));
    std::push_heap(entries_.begin(), entries_.end(), better);
  }
  bool empty() const { return entries_.empty(); }
  /// The entries, best first. Call it at the end.
  const std::vector<Entry>& sorted() {
    std::sort(entries_.begin(), entries_.end(), better);
    return entries_;
  }
  /// A row for each entry, best first.
  void write(Rows& rows, bool json) {
    for (const Entry& entry : sorted()) add_row(rows, json, entry);
  }

 private:
  static bool better(const Entry& a, const Entry& b) {
    return std::tuple(-a.score, a.number) < std::tuple(-b.score, b.number);
  }

  std::mutex mutex_;
  size_t capacity_;
  std::vector<Entry> entries_;  ///< a heap, the worst on top; once sorted, complete
};

/// A text that a search found.
struct FoundText {
  std::string file;
  uint64_t number = 0;  ///< number of the record, over all files
  uint64_t record = 0;  ///< within its file
  double score = 0;
  std::string text;

  void cells(Cells& c) const {
    c.text("file", file).count("record", record).number("score", score).text("text", text);
  }
  static constexpr bool kIsPart = false;  ///< it has all of its record's text
  /// The fields of a row of a record beside it.
  static void beside(const NearRecord& other, Rows& rows) {
    rows.field(other.file).field(other.record).field("").field(other.text);
  }
};

using TextRanking = Ranking<FoundText>;

}  // namespace bert
