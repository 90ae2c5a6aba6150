#include "rows/chunk.h"

#include <fmt/format.h>

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
        record.text, scratch_, [&](const TextChunk& chunk) { take(record, chunk, rows); });
    Encoding found;  // what note() asks for
    found.replaced_bytes = totals.replaced_bytes;
    note(record, found);
    note_unknown(record, totals.unknown, totals.tokens);
    if (output_ == ChunkOutput::spans) write(record, SpansRow{spans_}, rows, Repeats::text);
  }
}

void ChunkWorker::take(const Record& record, const TextChunk& chunk, Rows& rows) {
  const std::string_view text = record.text.substr(chunk.begin, chunk.end - chunk.begin);
  size_t begin = chunk.begin, end = chunk.end;
  if (options_.chars) {
    begin = begin_.before(record.text, begin);
    end = end_.before(record.text, end);
  }
  if (output_ == ChunkOutput::spans) {
    fmt::format_to(std::back_inserter(spans_), "{}{}-{}", spans_.empty() ? "" : " ", begin, end);
  } else {
    write(record, ChunkRow{begin, end, chunk.tokens, text}, rows);
  }
}

}  // namespace bert
