#include "rows/text_groups.h"

#include <fmt/format.h>

namespace bert {

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
    const GroupRow group{groups_.first[row] + 1, groups_.score[row]};
    if (!only_first_) {
      write(record, &group, rows);
    } else if (groups_.first[row] == row) {
      write(record, nullptr, rows);
    }
  }
}

/// The record with its group, or alone.
void GroupWorker::write(const Record& record, const GroupRow* group, Rows& rows) const {
  const bool json = options_.json;
  if (json) {
    JsonRow(rows.raw()).object().count("record", record.number).text("text", record.text);
  } else if (options_.number) {
    rows.field(record.number);
  }
  Cells cells(rows, json);
  if (group) group->cells(cells);
  if (json) {
    JsonRow(rows.raw()).end_object();
  } else if (options_.keep_line || !group) {
    rows.field(record.line);
  }
  rows.end();
}

void write_group(const VectorGroups& groups, size_t row, const TaskOptions& options, Rows& rows) {
  if (options.json) {
    JsonRow(rows.raw()).object().count("record", row + 1);
  } else if (options.number) {
    rows.field(row + 1);
  }
  Cells cells(rows, options.json);
  GroupRow{groups.first[row] + 1, groups.score[row]}.cells(cells);
  if (options.json) JsonRow(rows.raw()).end_object();
  rows.end();
}

}  // namespace bert
