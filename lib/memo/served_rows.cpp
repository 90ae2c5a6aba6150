#include "memo/served_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse.h"
#include "pipeline/stream.h"

namespace bert {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Error::Kind::internal, "rows for memo", what);
}

/// The numbers of all records of a chunk, in order.
std::vector<uint64_t> numbers_of(const Job& job) {
  std::vector<uint64_t> numbers;
  for (const Record& record : job.records) numbers.push_back(record.number);
  for (const LeftOut& left_out : job.left_out) numbers.push_back(left_out.record.number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

void ServedRows::place(Record& record) {
  const std::string_view name = take_request(record);
  if (files_.empty() || files_.back() != name) files_.emplace_back(name);
  record.file = &files_.back();
}

/// The next row, with its terminator.
std::string_view ServedRows::take_row() {
  std::string_view row;
  if (shape_.width == 0) {
    row = bert::take_row(rows_, terminator_, shape_.csv);
  } else if (shape_.width <= rows_.size()) {
    row = rows_.substr(0, shape_.width);
    rows_.remove_prefix(row.size());
  }
  if (row.empty()) refuse("a record has no row");
  return row;
}

/// The rows of a record, without their numbers.
std::string ServedRows::take_rows(uint64_t number) {
  if (shape_.numbers == Greeting::Numbers::none) return std::string(take_row());
  const std::string begin = row_begin(shape_.numbers, number);
  std::string taken;
  // The number must end there: 1 is not the begin of 12.
  while (rows_.starts_with(begin) &&
         (rows_.size() == begin.size() || rows_[begin.size()] < '0' || rows_[begin.size()] > '9')) {
    taken += take_row().substr(begin.size());
    if (!shape_.several) return taken;
  }
  if (!shape_.several) refuse(fmt::format("record {} has no row", number));
  return taken;
}

void ServedRows::write(const Job& job) {
  rows_ = job.rows.bytes();
  terminator_ = job.rows.terminator();
  std::string replies;
  if (shape_.header && job.chunk.first_of_file()) {
    if (job.error && job.records.empty()) return;  // the header was refused
    append_reply(replies, {0, shape_.names ? std::string(take_row()) : "", ""});
  }
  auto bad = job.bad.begin();
  for (const uint64_t number : numbers_of(job)) {
    if (job.failed > 0 && number >= job.failed) break;
    Reply reply{number, "", ""};
    if (bad != job.bad.end() && bad->first == number) reply.message = text_of_((bad++)->second);
    reply.rows = take_rows(number);
    append_reply(replies, reply);
  }
  if (!rows_.empty()) refuse(fmt::format("{} bytes are of no record", rows_.size()));
  write_all(fd_, replies);
}

}  // namespace bert
