#include "rows/chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace bert {

size_t ChunkWorker::Counter::before(std::string_view text, size_t to) {
  chars += chars_before(text.substr(byte), to - byte);
  byte = to;
  return chars;
}

void ChunkWorker::run(std::span<const Record> records, Rows& rows) {
  for (const Record& record : records) {
    spans_.clear();
    begin_ = end_ = {};
    const Chunker::Totals totals = chunker_.cut(
        record.text, scratch_, [&](const TextChunk& chunk) { write(record, chunk, rows); });
    Encoding found;  // what note() asks for
    found.replaced_bytes = totals.replaced_bytes;
    note(record, found);
    note_unknown(record, totals.unknown, totals.tokens);
    if (output_ == ChunkOutput::spans) write_spans(record, rows);
  }
}

void ChunkWorker::write_spans(const Record& record, Rows& rows) {
  if (options_.json) {
    begin_json(rows, record, false).text("spans", spans_);
    end_json(rows);
    return;
  }
  begin_row(rows, record);
  rows.field(spans_);
  end_row(rows, record);
}

void ChunkWorker::write(const Record& record, const TextChunk& chunk, Rows& rows) {
  const std::string_view text = record.text.substr(chunk.begin, chunk.end - chunk.begin);
  size_t begin = chunk.begin, end = chunk.end;
  if (options_.chars) {
    begin = begin_.before(record.text, begin);
    end = end_.before(record.text, end);
  }
  if (output_ == ChunkOutput::spans) {
    fmt::format_to(std::back_inserter(spans_), "{}{}-{}", spans_.empty() ? "" : " ", begin, end);
  } else if (options_.json) {
    JsonRow json(rows.raw());
    json.object().count("record", record.number).count("start", begin).count("end", end);
    json.count("tokens", chunk.tokens).text("chunk", text);
    end_json(rows);
  } else {
    begin_row(rows, record);
    rows.field(begin).field(end).field(text);
    // The text is one field: a tab is written as a blank, so the text keeps its length.
    std::string& out = rows.raw();
    std::replace(out.end() - static_cast<ptrdiff_t>(text.size()), out.end(), '\t', ' ');
    end_row(rows, record);
  }
}

}  // namespace bert
