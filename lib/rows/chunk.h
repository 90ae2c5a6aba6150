#pragma once

#include <string>

#include "rows/task_worker.h"
#include "tokenizer/chunks.h"

namespace bert {

/// What `chunk` writes of a record.
///   rows    record start end text, one row per chunk
///   spans   the chunks' bytes in one field: start-end start-end
enum class ChunkOutput { rows, spans };

/// A row of a chunk.
struct ChunkRow {
  size_t start = 0, end = 0, tokens = 0;
  std::string_view text = {};

  void cells(Cells& c) const {
    c.count("start", start).count("end", end);
    if (auto json = c.members()) json->count("tokens", tokens);
    c.passage(c.members() ? "chunk" : "text", text);
  }
};

/// A row of all chunks of a record.
struct SpansRow {
  std::string_view spans = {};
  void cells(Cells& c) const { c.text("spans", spans); }
};

/// Cuts each text into chunks (tokenizer/chunks.h).
class BERT_API ChunkWorker : public TaskWorker {
 public:
  ChunkWorker(const Tokenizer& tokenizer, const ChunkOptions& chunks, ChunkOutput output,
              const TaskOptions& options)
      : TaskWorker(tokenizer, options), chunker_(tokenizer, chunks), output_(output) {}
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  void take(const Record& record, const TextChunk& chunk, Rows& rows);

  Chunker chunker_;
  const ChunkOutput output_;
  std::string spans_;
  /// Code points before a place that only goes up in a text.
  struct Counter {
    size_t byte = 0, chars = 0;
    size_t before(std::string_view text, size_t to);
  } begin_, end_;
};

}  // namespace bert
