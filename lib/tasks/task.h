#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"
#include "encoder/packed_batch.h"
#include "io/json_row.h"
#include "pipeline/worker.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// What happens to a text that is too long for the model.
///   cut      the end is dropped, and counted     window   overlapping windows cover all of it
///   error    the run ends with status 65
enum class Overflow { cut, window, error };

/// What the shared options tell every task.
struct TaskOptions {
  EncodeOptions encode;  ///< max_length is set
  Overflow overflow = Overflow::cut;
  size_t stride = 128;            ///< tokens that two windows share
  size_t max_batch_tokens = 512;  ///< of one packed batch; never changes a row
  bool strict = false;     ///< a cut text, invalid UTF-8, a text of unknown tokens or a value that
                           ///< is no number is an error
  bool number = false;     ///< -n: the record number first
  bool keep_line = false;  ///< the input line last
  bool json = false;       ///< one JSON object per record
  bool chars = false;      ///< offsets count code points
  /// Gets each record whose text is cut, and how many tokens were left out, once. Called by several
  /// threads.
  std::function<void(const Record&, size_t dropped)> on_cut;
  std::optional<Precision> precision;  ///< of the model that runs; none: one only tokenizes
};

/// A worker over a tokenizer and a model: encodes records, packs them into batches, keeps the
/// counts of what was cut or not UTF-8, and frames rows. A task derives from it and turns hidden
/// states into fields.
class TaskWorker : public Worker {
 public:
  void use_team(Team* team) override { workspace_.linear.team = team; }

 protected:
  /// `model` may be nullptr for tasks that only tokenize.
  TaskWorker(const Tokenizer& tokenizer, const Model* model, const TaskOptions& options)
      : tokenizer_(tokenizer), model_(model), options_(options) {}

  /// Encodes the record's text (and text_pair, if `pair`) into `windows_of(record)`: one encoding,
  /// or with Overflow::window as many as it takes. Appends to encodings_ and owners_ (`owner` for
  /// each).
  /// The first `prompt` bytes of the text are not the record's own.
  void encode(const Record& record, bool pair, size_t owner, size_t prompt = 0);
  /// Appends the windows of the record's text (or of text_pair beside text) with this stride.
  void encode_windows(const Record& record, bool pair, size_t stride, size_t owner);
  /// Forgets the encodings of the last chunk; their memory is kept.
  void clear_encodings();
  /// One more encoding of the record `owner`, empty.
  Encoding& next_encoding(size_t owner);
  std::span<Encoding> encodings() { return {encodings_.data(), encoding_count_}; }

  /// Packs encodings() in order into batches of at most max_batch_tokens, runs the model on each,
  /// and calls
  ///   use(first, batch, hidden)   first: index of the batch's first encoding; hidden [T, H]
  template <typename Use>
  void for_each_batch(Use use, const ForwardOptions& options = {}) {
    size_t first = 0;
    while (first < encoding_count_) {
      const size_t last = pack(first);
      use(first, batch_, model_->forward(batch_, workspace_, options));
      first = last;
    }
  }
  /// Fills batch_ from encodings_[first ..); returns the index after the last that fits (at least
  /// one).
  size_t pack(size_t first);

  /// Counts, or with strict refuses, what encode() found. Bytes `own` of the text are the record's;
  /// those of a prompt around them make no text known.
  void note(const Record& record, const Encoding& encoding, Offset own = {0, UINT32_MAX});
  /// Counts, or with strict or Overflow::error refuses, a text that is cut.
  /// `dropped`: the tokens that are left out; 0: not known.
  void note_too_long(const Record& record, size_t dropped = 0);
  void note_cut(const Record& record, size_t dropped = 0);
  /// Counts, or with strict refuses, a text of which more than half of the tokens are unknown.
  void note_unknown(const Record& record, size_t unknown, size_t tokens);
  /// Throws Error(usage) for windows, where they have no meaning: `where` says so of some cases.
  void refuse_windows(std::string_view where = "") const;
  /// Counts a value that is NaN or infinite; with strict throws Error naming the record.
  void note_non_finite(const Record& record);
  /// Calls count() for what this record adds to a measure, but once: stream() may run it again when
  /// one beside it is bad. The last that may throw for a record.
  template <typename Count>
  void once(const Record& record, Count count) {
    if (record.number < next_counted_) return;
    count();
    next_counted_ = record.number + 1;
  }

  void begin_row(Rows& rows, const Record& record) const;
  void end_row(Rows& rows, const Record& record) const;
  /// `{"record":N,"text":"..."` and, if `pair`, `,"text_pair":"..."`; the caller goes on.
  JsonRow begin_json(Rows& rows, const Record& record, bool pair) const;
  /// `}` and the terminator.
  void end_json(Rows& rows) const;
  /// Writes how many tokens of the record were left out, if any.
  void write_cut(JsonRow& json, const Record& record) const;

  const Tokenizer& tokenizer_;
  const Model* model_;
  const TaskOptions options_;
  Workspace workspace_;
  Tokenizer::Scratch scratch_;
  PackedBatch batch_;
  std::vector<size_t> owners_;  ///< [encodings]: index of the record in the chunk

 private:
  /// Appends the windows; returns why windows have no room for text, "" if they have.
  std::string add_windows(const Record& record, bool pair, size_t stride, size_t owner);

  std::vector<Encoding> encodings_;  // the first encoding_count_ are in use
  size_t encoding_count_ = 0;
  std::vector<Encoding> windows_;
  std::vector<std::pair<uint64_t, size_t>>
      cuts_;               // records of the chunk that are cut: tokens left out
  uint64_t last_cut_ = 0;  // numbers of the records that were counted last
  uint64_t last_invalid_utf8_ = 0;
  uint64_t last_unknown_ = 0;
  uint64_t last_non_finite_ = 0;
  uint64_t next_counted_ = 0;
};

/// Code points before byte `byte` of `text`: what --chars prints for a byte offset.
size_t chars_before(std::string_view text, size_t byte);

}  // namespace bert
