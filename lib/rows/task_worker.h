#pragma once

#include <span>
#include <vector>

#include "base/export.h"
#include "io/cells.h"
#include "pipeline/worker.h"
#include "predict/batcher.h"
#include "predict/sequences.h"
#include "rows/task_options.h"

namespace bert {

/// A worker that reads texts: makes sequences of records, keeps the counts of what was cut or not
/// UTF-8, and frames rows. A task derives from it; what it asks of a model is in predict/.
class TaskWorker : public Worker {
 public:
  void use_team(Team* team) override { batcher_.use_team(team); }

 protected:
  TaskWorker(const Tokenizer& tokenizer, const TaskOptions& options)
      : tokenizer_(tokenizer),
        options_(options),
        reader_(tokenizer, options_),
        scratch_(reader_.scratch()),
        batcher_(options.max_batch_tokens) {}

  /// Reads the record's text (and text_pair, if `pair`) into sequences_, as text number `text` of
  /// the chunk.
  void read(const Record& record, bool pair, size_t text);
  /// The same of a text that is not the record's own.
  void read(const Record& record, const Text& text, size_t number);
  /// Forgets the texts of the last chunk; their memory is kept.
  void clear_texts();

  /// Counts, or with strict refuses, what was found in a text.
  void note(const Record& record, const Reading& reading, bool pair = false);
  /// The same of an encoding. Bytes `own` of the text are the record's; those of a prompt around
  /// them make no text known.
  void note(const Record& record, const Encoding& encoding, Offset own = {0, UINT32_MAX}) {
    note(record, Reading::of(encoding, tokenizer_.unk_id(), own));
  }
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

  /// What an object of JSON repeats of its record before the cells of a row: its number, how many
  /// of its tokens were left out, its text, its two texts.
  enum class Repeats { number, cut, text, pair };
  /// A row of the record: cells with its number before and its line behind them; or an object.
  template <typename Row>
  void write(const Record& record, const Row& row, Rows& rows,
             Repeats repeats = Repeats::number) const {
    Cells cells = begin(record, rows, repeats);
    row.cells(cells);
    end(record, rows);
  }
  /// The same in steps, for rows that are written while they are found.
  Cells begin(const Record& record, Rows& rows, Repeats repeats = Repeats::number) const {
    if (options_.json) return begin_object(record, rows, repeats);
    if (options_.file) rows.field(*record.file);
    if (options_.number) rows.field(number_of(record));
    return {rows, false};
  }
  void end(const Record& record, Rows& rows) const {
    if (options_.json) {
      JsonRow(rows.raw()).end_object();
    } else if (options_.keep_line) {
      rows.line(record.line);
    }
    rows.end();
  }

  const Tokenizer& tokenizer_;
  const TaskOptions options_;
  TextReader reader_;
  Tokenizer::Scratch& scratch_;
  Sequences sequences_;  ///< sequences of the chunk
  Batcher batcher_;

 private:
  Cells begin_object(const Record& record, Rows& rows, Repeats repeats) const;
  uint64_t number_of(const Record& record) const {
    return options_.file ? record.number_in_file : record.number;
  }

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
