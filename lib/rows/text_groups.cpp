#include "rows/text_groups.h"

#include <fmt/format.h>

namespace bert {
namespace {

GroupRow row_of(const VectorGroups& groups, size_t row) {
  return {groups.first[row] + 1, groups.score[row]};
}

/// A row with its number: the record, if there is one, and its group; without a group the record's
/// line alone.
void write_framed(uint64_t number, const Record* record, const GroupRow* group,
                  const TaskOptions& options, Rows& rows) {
  const bool json = options.json;
  if (json) {
    JsonRow(rows.raw()).object().count("record", number);
    if (record) JsonRow(rows.raw()).text("text", record->text);
  } else if (options.number) {
    rows.field(number);
  }
  Cells cells(rows, json);
  if (group) group->cells(cells);
  if (json) {
    JsonRow(rows.raw()).end_object();
  } else if (record && (options.keep_line || !group)) {
    rows.field(record->line);
  }
  rows.end();
}

}  // namespace

VectorGroups group_texts(const TextVectors& vectors, double threshold, int threads) {
  VectorGroups groups = group(vectors.source(), threshold, threads);
  for (size_t i = 0; i < vectors.rows(); ++i) {
    const TextVectors::State state = vectors.state(i);
    if (state == TextVectors::State::absent) groups.first[i] = kNoGroup;
    if (state == TextVectors::State::not_finite) {
      groups.score[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return groups;
}

void GroupWorker::run(std::span<const Record> records, Rows& rows) {
  for (const Record& record : records) {
    const uint64_t row = record.number - 1;
    if (row >= groups_.first.size() || groups_.first[row] == kNoGroup) {
      record.fail(Error::Kind::data,
                  fmt::format("has no vector, of which there are {}", groups_.first.size()));
    }
    const GroupRow group = row_of(groups_, row);
    if (!only_first_) {
      write_framed(record.number, &record, &group, options_, rows);
    } else if (groups_.first[row] == row) {
      write_framed(record.number, &record, nullptr, options_, rows);
    }
  }
}

void write_group(const VectorGroups& groups, size_t row, const TaskOptions& options, Rows& rows) {
  const GroupRow group = row_of(groups, row);
  write_framed(row + 1, nullptr, &group, options, rows);
}

}  // namespace bert
