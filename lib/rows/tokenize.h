#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "rows/task_worker.h"

namespace bert {

/// What `tokenize` writes of a record.
///   tokens    the tokens, separated by blanks        ids       their ids
///   offsets   one row per token: record index start end id token
///   count     how many                               none      nothing: totals only
///   decoded   the text of the ids that the record holds
enum class TokenizeOutput { tokens, ids, offsets, count, decoded, none };

/// Sums over all workers.
struct BERT_API TokenizeTotals {
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> words{0};
  std::atomic<uint64_t> tokens{0};  ///< special tokens of the frame not counted
  std::atomic<uint64_t> unknown{0};

  /// A line for each, and for two ratios: name, number.
  std::string report() const;
};

struct TokenizeOptions {
  TokenizeOutput output = TokenizeOutput::tokens;
  bool pair = false;
  bool as_written = false;  ///< tokens are spelt as in the text: words by a dictionary

  /// Names of the columns of its rows.
  BERT_API std::vector<std::string> columns() const;
};

/// The tokens of each record (options.encode says whether with [CLS] and [SEP]). A text without
/// limit and frame is written while it is read, so memory does not grow with its tokens.
class BERT_API TokenizeWorker : public TaskWorker {
 public:
  /// Borrows everything but the options; `totals` may be nullptr.
  TokenizeWorker(const Tokenizer& tokenizer, const TokenizeOptions& tokenize,
                 const TaskOptions& options, TokenizeTotals* totals)
      : TaskWorker(tokenizer, options), tokenize_(tokenize), totals_(totals) {}
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  /// Counts code points up to bytes that go up, give or take a character.
  class CharCounter {
   public:
    explicit CharCounter(std::string_view text) : text_(text) {}
    size_t before(size_t byte);

   private:
    std::string_view text_;
    size_t byte_ = 0;
    size_t chars_ = 0;
  };

  void stream(const Record& record, Rows& rows);
  void whole(const Record& record, Rows& rows);
  void decode(const Record& record, Rows& rows);
  void write_encoding(const Record& record, const Encoding& encoding, Rows& rows);
  void write_json(const Record& record, const Encoding& encoding, Rows& rows);
  void end_list(const Record& record, size_t first, Rows& rows) const;
  void write_list(const Record& record, const Encoding& encoding, Rows& rows) const;
  void write_offset(const Record& record, size_t index, int32_t id, Offset offset,
                    CharCounter* chars, Rows& rows);
  std::string_view spelling(const Record& record, int32_t id, Offset offset) const;
  void append_tokens(const Record& record, std::span<const Piece> pieces, std::string& out) const;
  static void append_ids(std::span<const Piece> pieces, std::string& out);
  void add_to_totals(const Record& record, uint64_t words, uint64_t tokens, uint64_t unknown);

  const TokenizeOptions tokenize_;
  TokenizeTotals* totals_;
  std::vector<int32_t> ids_;
};

}  // namespace bert
