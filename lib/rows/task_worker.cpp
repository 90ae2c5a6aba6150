#include "rows/task_worker.h"

#include <fmt/format.h>

#include <algorithm>

namespace bert {

void TaskWorker::clear_texts() {
  cuts_.clear();
  sequences_.clear();
}

void TaskWorker::read(const Record& record, bool pair, size_t text) {
  read(record, pair ? Text{record.text, record.text_pair} : Text{record.text}, text);
}

void TaskWorker::read(const Record& record, const Text& text, size_t number) {
  note(record, reader_.read(text, number, sequences_), text.pair.has_value());
}

namespace {

/// Whether the record comes after the last that was counted: it counts once, whatever texts and
/// rows it has, and however often it is run.
bool is_new(uint64_t& last, const Record& record) {
  if (record.number <= last) return false;
  last = record.number;
  return true;
}

}  // namespace

void TaskWorker::note(const Record& record, const Reading& reading, bool pair) {
  if (reading.cut) note_too_long(record);
  if (reading.replaced_bytes > 0) {
    if (options_.strict) record.fail(Error::Kind::data, "is not UTF-8");
    if (is_new(last_invalid_utf8_, record) && counts_.invalid_utf8++ == 0) {
      counts_.first_invalid_utf8 = FirstRecord(record);
    }
  }
  if (reading.dropped > 0 && options_.overflow != Overflow::window)
    note_too_long(record, reading.dropped);
  for (const size_t text : {0, 1})
    note_unknown(record, reading.unknown[text], reading.tokens[text]);
  if (reading.no_room.empty()) return;
  if (options_.strict || !pair) record.fail(Error::Kind::data, reading.no_room);
  note_cut(record);  // the first text leaves windows no room: the record is cut after all
}

void TaskWorker::note_unknown(const Record& record, size_t unknown, size_t tokens) {
  if (2 * unknown <= tokens) return;
  if (options_.strict) {
    record.fail(Error::Kind::data,
                fmt::format("{} of the {} tokens of a text are unknown to the vocabulary", unknown,
                            tokens));
  }
  if (is_new(last_unknown_, record) && counts_.unknown++ == 0) {
    counts_.first_unknown = FirstRecord(record);
  }
}

void TaskWorker::note_too_long(const Record& record, size_t dropped) {
  if (options_.strict || options_.overflow == Overflow::error) {
    record.fail(Error::Kind::data,
                fmt::format("is too long, wants at most {} tokens", options_.encode.max_length));
  }
  note_cut(record, dropped);
}

void TaskWorker::note_cut(const Record& record, size_t dropped) {
  if (dropped > 0 && options_.encode.count_dropped) {
    if (!cuts_.empty() && cuts_.back().first == record.number) {
      cuts_.back().second += dropped;
    } else {
      cuts_.emplace_back(record.number, dropped);
    }
    if (options_.on_cut && record.number > last_cut_) options_.on_cut(record, dropped);
  }
  if (is_new(last_cut_, record) && counts_.overflowed++ == 0) {
    counts_.first_overflowed = FirstRecord(record);
  }
}

void TaskWorker::refuse_windows(std::string_view where) const {
  if (options_.overflow != Overflow::window) return;
  throw Error::of_field("overflow", fmt::format("found 'window', wants cut or error{}", where));
}

void TaskWorker::note_non_finite(const Record& record) {
  if (options_.strict) record.fail(Error::Kind::data, "its result is not a number");
  counts_.non_finite += is_new(last_non_finite_, record);
}

Cells TaskWorker::begin_object(const Record& record, Rows& rows, Repeats repeats) const {
  JsonRow json(rows.raw());
  json.object().count("record", number_of(record));
  if (options_.file) json.text("file", *record.file);
  if (repeats >= Repeats::text) json.text("text", record.text);
  if (repeats == Repeats::pair) json.text("text_pair", record.text_pair);
  for (const auto& [number, dropped] : cuts_) {
    if (repeats != Repeats::number && number == record.number) json.count("cut_tokens", dropped);
  }
  return {rows, true};
}

size_t chars_before(std::string_view text, size_t byte) {
  return static_cast<size_t>(std::count_if(text.begin(),
                                           text.begin() + static_cast<ptrdiff_t>(byte),
                                           [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace bert
