#include "tasks/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bert {

void TaskWorker::clear_encodings() {
  cuts_.clear();
  encoding_count_ = 0;
  owners_.clear();
}

Encoding& TaskWorker::next_encoding(size_t owner) {
  if (encoding_count_ == encodings_.size()) encodings_.emplace_back();
  owners_.push_back(owner);
  Encoding& encoding = encodings_[encoding_count_++];
  encoding.clear();
  return encoding;
}

void TaskWorker::encode(const Record& record, bool pair, size_t owner, size_t prompt) {
  Encoding& encoding = next_encoding(owner);
  if (pair) {
    tokenizer_.encode_pair(record.text, record.text_pair, options_.encode, encoding, scratch_);
  } else {
    tokenizer_.encode(record.text, options_.encode, encoding, scratch_);
  }
  note(record, encoding, {static_cast<uint32_t>(prompt), UINT32_MAX});
  if (encoding.dropped == 0 || options_.overflow != Overflow::window) return;

  --encoding_count_;
  owners_.pop_back();
  const std::string no_room = add_windows(record, pair, options_.stride, owner);
  if (no_room.empty()) return;
  if (options_.strict || !pair) record.fail(Error::Kind::data, no_room);
  ++encoding_count_;  // the first text leaves windows no room: the record is cut after all
  owners_.push_back(owner);
  note_cut(record);
}

void TaskWorker::encode_windows(const Record& record, bool pair, size_t stride, size_t owner) {
  const std::string no_room = add_windows(record, pair, stride, owner);
  if (!no_room.empty()) record.fail(Error::Kind::data, no_room);
}

std::string TaskWorker::add_windows(const Record& record, bool pair, size_t stride, size_t owner) {
  try {
    if (pair) {
      tokenizer_.encode_pair_windows(record.text, record.text_pair, options_.encode, stride,
                                     windows_, scratch_);
    } else {
      tokenizer_.encode_windows(record.text, options_.encode, stride, windows_, scratch_);
    }
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::usage) throw;
    return error.what();
  }
  for (Encoding& window : windows_) std::swap(next_encoding(owner), window);
  return "";
}

size_t TaskWorker::pack(size_t first) {
  batch_.clear();
  size_t i = first;
  do {
    batch_.append(encodings_[i].input_ids, encodings_[i].token_type_ids);
    ++i;
  } while (i < encoding_count_ &&
           batch_.tokens() + encodings_[i].size() <= options_.max_batch_tokens);
  return i;
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

void TaskWorker::note(const Record& record, const Encoding& encoding, Offset own) {
  if (encoding.replaced_bytes > 0) {
    if (options_.strict) record.fail(Error::Kind::data, "is not UTF-8");
    if (is_new(last_invalid_utf8_, record) && counts_.invalid_utf8++ == 0) {
      counts_.first_invalid_utf8 = record.number;
    }
  }
  if (encoding.dropped > 0 && options_.overflow != Overflow::window)
    note_too_long(record, encoding.dropped);
  size_t tokens[2] = {}, unknown[2] = {};  // of each text, special tokens around it left out
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (encoding.is_added(i)) continue;
    if (encoding.offsets[i].end <= own.begin || encoding.offsets[i].begin >= own.end) continue;
    const auto text = static_cast<size_t>(encoding.sequence_ids[i]);
    ++tokens[text];
    unknown[text] += encoding.input_ids[i] == tokenizer_.unk_id();
  }
  for (const size_t text : {0, 1}) note_unknown(record, unknown[text], tokens[text]);
}

void TaskWorker::note_unknown(const Record& record, size_t unknown, size_t tokens) {
  if (2 * unknown <= tokens) return;
  if (options_.strict) {
    record.fail(Error::Kind::data,
                fmt::format("{} of the {} tokens of a text are unknown to the vocabulary", unknown,
                            tokens));
  }
  if (is_new(last_unknown_, record) && counts_.unknown++ == 0) {
    counts_.first_unknown = record.number;
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
    counts_.first_overflowed = record.number;
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

void TaskWorker::begin_row(Rows& rows, const Record& record) const {
  if (options_.number) rows.field(record.number);
}

void TaskWorker::end_row(Rows& rows, const Record& record) const {
  if (options_.keep_line) rows.field(record.line);
  rows.end();
}

JsonRow TaskWorker::begin_json(Rows& rows, const Record& record, bool pair) const {
  JsonRow json(rows.raw());
  json.object().count("record", record.number).text("text", record.text);
  if (pair) json.text("text_pair", record.text_pair);
  write_cut(json, record);
  return json;
}

void TaskWorker::write_cut(JsonRow& json, const Record& record) const {
  for (const auto& [number, dropped] : cuts_) {
    if (number == record.number) json.count("cut_tokens", dropped);
  }
}

void TaskWorker::end_json(Rows& rows) const {
  rows.raw() += '}';
  rows.end();
}

size_t chars_before(std::string_view text, size_t byte) {
  return static_cast<size_t>(std::count_if(text.begin(),
                                           text.begin() + static_cast<ptrdiff_t>(byte),
                                           [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace bert
