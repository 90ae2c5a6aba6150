#include "rows/text_groups.h"

#include <fmt/format.h>

#include "io/json_row.h"

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
    if (!only_first_) {
      write_group(record, rows);
    } else if (groups_.first[row] == row) {
      write_line(record, rows);
    }
  }
}

void GroupWorker::write_group(const Record& record, Rows& rows) const {
  const uint64_t row = record.number - 1;
  if (options_.json) {
    JsonRow json(rows.raw());
    json.object().count("record", record.number).text("text", record.text);
    json.count("group", groups_.first[row] + 1).number("score", groups_.score[row]).end_object();
  } else {
    if (options_.number) rows.field(record.number);
    rows.field(groups_.first[row] + 1).number(groups_.score[row]);
    if (options_.keep_line) rows.field(record.line);
  }
  rows.end();
}

void GroupWorker::write_line(const Record& record, Rows& rows) const {
  if (options_.json) {
    JsonRow(rows.raw())
        .object()
        .count("record", record.number)
        .text("text", record.text)
        .end_object();
  } else {
    if (options_.number) rows.field(record.number);
    rows.field(record.line);
  }
  rows.end();
}

void write_group(const VectorGroups& groups, size_t row, const TaskOptions& options, Rows& rows) {
  if (options.json) {
    JsonRow json(rows.raw());
    json.object().count("record", row + 1).count("group", groups.first[row] + 1);
    json.number("score", groups.score[row]).end_object();
  } else {
    if (options.number) rows.field(row + 1);
    rows.field(groups.first[row] + 1).number(groups.score[row]);
  }
  rows.end();
}

void write_pair(const VectorPair& pair, bool json, Rows& rows) {
  if (json) {
    JsonRow object(rows.raw());
    object.object().count("record", pair.first + 1).count("neighbour", pair.second + 1);
    object.number("score", pair.score).end_object();
  } else {
    rows.field(pair.first + 1).field(pair.second + 1).number(pair.score);
  }
  rows.end();
}

}  // namespace bert
