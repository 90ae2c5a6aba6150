#include "memo/memo.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "pipeline/stream.h"

namespace bert {
namespace {

constexpr size_t kChunkRecords = 128, kChunkBytes = 64 << 10;
constexpr size_t kMostHeld = size_t{64} << 20;  // bytes of records and rows that wait
constexpr size_t kMostEntries = 32768;
constexpr size_t kWriteSize = 1 << 20;
constexpr int kSaveWait = 100;  // milliseconds between two looks at what waits to be saved

}  // namespace

Memo::Memo(const MemoOptions& options, const Greeting& greeting, CoProcess& tool, MemoStore& store)
    : options_(options), greeting_(greeting), tool_(tool), store_(store) {
  if (!greeting_.header) store_.choose(greeting_.key);
}

int Memo::run() {
  std::thread receiver([this] { receive(); });
  std::exception_ptr failed;
  try {
    write_shown(options_.output_fd, greeting_.begin);
    read();
  } catch (...) {
    failed = std::current_exception();
  }
  tool_.end_requests();
  receiver.join();
  if (keeps_) save();
  std::unique_lock lock(mutex_);
  write_done(lock);
  if (error_) std::rethrow_exception(error_);
  const int status = tool_.wait();
  if (status != 0) return status;
  if (failed) std::rethrow_exception(failed);
  if (!entries_.empty()) {
    throw Error(Error::Kind::protocol, "the tool",
                fmt::format("ended without the rows of {} records", entries_.size()));
  }
  return 0;
}

void Memo::read() {
  RecordReader reader(options_.files, greeting_.terminator, options_.on_skipped,
                      greeting_.csv ? Framing::csv : Framing::lines, greeting_.wanted);
  Chunk chunk;
  std::string requests;
  while (reader.next(chunk, kChunkRecords, kChunkBytes, [this] { return how_busy(); })) {
    wait_for_room();
    requests.clear();
    take(chunk, requests);
    if (!tool_.send(requests)) return;  // run() finds out why
    std::unique_lock lock(mutex_);
    write_done(lock);
    if (error_ || ended_) return;
    lock.unlock();
    if (keeps_ && store_.due()) save();
  }
}

void Memo::take(const Chunk& chunk, std::string& requests) {
  for (size_t i = 0; i < chunk.lines.size(); ++i) {
    const Record record{.line = chunk.lines[i],
                        .number = chunk.first_number + i - headers_,
                        .number_in_file = chunk.first_in_file + i - (greeting_.header ? 1 : 0),
                        .file = chunk.file,
                        .crlf = greeting_.terminator == '\n'};
    if (greeting_.header && i == 0 && chunk.first_of_file()) {
      take_header(record, requests);
    } else {
      take_record(record, requests);
    }
  }
}

/// A field that is chosen by its name may have another place below another header. So the header
/// belongs to the key.
void Memo::take_header(const Record& header, std::string& requests) {
  if (headers_++ > 0) {
    if (header.body() == *header_) return;
    header.fail(Error::Kind::data,
                fmt::format("found the columns '{}', wants those of the first file, '{}'",
                            printable(header.body()), printable(*header_)));
  }
  header_ = header.body();
  store_.choose(fmt::format("{}\n{}", greeting_.key, *header_));
  Record first = header;
  first.number = 0;
  append_request(requests, first, greeting_.terminator);
  std::lock_guard lock(mutex_);
  asked_.push_back(&add(first));
}

void Memo::take_record(const Record& record, std::string& requests) {
  const std::optional<std::string> rows = store_.find(record.line);
  std::lock_guard lock(mutex_);
  Entry& entry = add(record);
  if (rows) {
    finish(entry, *rows);
    return;
  }
  // A bad record would have no rows for those that are equal to it.
  if (!greeting_.skip_bad) {
    const auto same = asked_by_line_.find(record.line);
    if (same != asked_by_line_.end()) {
      same->second->same.push_back(&entry);
      return;
    }
  }
  entry.line = record.line;
  held_ += entry.line.size();
  asked_.push_back(&entry);
  asked_by_line_.emplace(entry.line, &entry);
  append_request(requests, record, greeting_.terminator);
}

Memo::Entry& Memo::add(const Record& record) {
  read_ += record.line.size() + 1;
  counts_.records += record.number > 0;
  held_ += sizeof(Entry);
  return entries_.emplace_back(Entry{.number = record.number, .bytes = read_});
}

void Memo::wait_for_room() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] {
    const bool room = held_ < kMostHeld && entries_.size() < kMostEntries;
    return room || entries_.empty() || ended_ || error_;
  });
}

Busy Memo::how_busy() {
  std::lock_guard lock(mutex_);
  if (error_ || ended_ || tool_.has_ended()) return Busy::stop;
  return entries_.empty() ? Busy::none : Busy::some;
}

void Memo::receive() {
  Reply reply;
  try {
    for (;;) {
      const auto got = tool_.receive(reply, keeps_ && store_.waits() ? kSaveWait : -1);
      if (got == CoProcess::Got::end) break;
      if (got == CoProcess::Got::reply) answer(reply);
      if (keeps_ && store_.due()) save();
      std::lock_guard lock(mutex_);
      if (error_) break;
    }
  } catch (...) {
    stop(std::current_exception());
  }
  std::unique_lock lock(mutex_);
  ended_ = true;
  if (error_) tool_.stop();
  room_.notify_all();
}

/// The tool has computed the first of the records that it was asked for.
void Memo::answer(Reply& reply) {
  std::unique_lock lock(mutex_);
  if (asked_.empty() || asked_.front()->number != reply.number) {
    throw Error(Error::Kind::protocol, "the tool",
                fmt::format("found rows of record {}, which was not asked for", reply.number));
  }
  Entry& entry = *asked_.front();
  asked_.pop_front();
  counts_.computed += reply.number > 0;
  if (!reply.message.empty() && counts_.bad++ == 0) counts_.first_bad = reply.message;
  if (reply.message.empty() && reply.number > 0 && keeps_) store_.keep(entry.line, reply.rows);
  if (const auto found = asked_by_line_.find(entry.line);
      found != asked_by_line_.end() && found->second == &entry) {
    asked_by_line_.erase(found);
  }
  for (Entry* same : entry.same) finish(*same, reply.rows);
  finish(entry, reply.rows);
  write_done(lock);
}

void Memo::finish(Entry& entry, std::string_view rows) {
  entry.rows = entry.number > 0 ? numbered(entry.number, rows) : std::string(rows);
  entry.done = true;
  held_ += entry.rows.size();
}

/// The rows with what they begin with.
std::string Memo::numbered(uint64_t number, std::string_view rows) const {
  const std::string begin = row_begin(greeting_.numbers, number);
  if (begin.empty()) return std::string(rows);
  std::string out;
  while (!rows.empty()) {
    std::string_view row = take_row(rows, greeting_.terminator, greeting_.csv_rows());
    if (row.empty()) std::swap(row, rows);  // has no terminator
    out += begin;
    out += row;
  }
  return out;
}

/// Writes the rows of the records at the head that are done, in order, one writer at a time.
void Memo::write_done(std::unique_lock<std::mutex>& lock) {
  if (writing_) return;
  writing_ = true;
  while (!entries_.empty() && entries_.front().done && !error_) {
    std::string rows;
    uint64_t bytes = 0;
    for (; !entries_.empty() && entries_.front().done && rows.size() < kWriteSize;
         entries_.pop_front()) {
      const Entry& entry = entries_.front();
      rows += entry.rows;
      bytes = entry.bytes;
      written_ += entry.number > 0;
      held_ -= sizeof(Entry) + entry.line.size() + entry.rows.size();
    }
    const uint64_t records = written_;
    lock.unlock();
    std::exception_ptr error;
    try {
      write_shown(options_.output_fd, rows);
      if (options_.progress) options_.progress(records, bytes);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) error_ = error;
    room_.notify_all();
  }
  writing_ = false;
  if (error_) tool_.stop();
}

/// A store that is full does not end a run, whose rows would be lost.
void Memo::save() {
  try {
    store_.save();
  } catch (const Error& error) {
    keeps_ = false;
    std::lock_guard lock(mutex_);
    if (!lost_) lost_ = error;
  }
}

void Memo::stop(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
  room_.notify_all();
}

}  // namespace bert
