#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/record_reader.h"
#include "pipeline/worker.h"

namespace bert {

/// Which bytes are a record and which fields its texts.
struct StreamOptions {
  std::vector<std::string> files;   ///< empty: stdin; "-": stdin
  char terminator = '\n';           ///< LF, or NUL
  size_t texts = 1;                 ///< texts per record: 1, or 2 for pair tools
  bool paragraphs = false;          ///< a record is lines up to an empty one; the text all of it
  std::vector<std::string> fields;  ///< 1-based numbers, or names with a header; empty: the whole
                                    ///< line (texts 1) or fields 1 and 2 (texts 2)
  struct ExtraField {
    std::string option;  ///< that names it, for messages
    std::string field;
  };
  std::vector<ExtraField> extra_fields;  ///< that the tool needs too (a gold label, a group)
  /// Adds one, if it is named.
  void want_field(const char* option, const std::string& field) {
    if (!field.empty()) extra_fields.push_back({option, field});
  }
  /// Adds the field of a record's truth, if it is named.
  void want_truth(const char* option, const std::string& field) {
    want_field(option, field);
    gold |= !field.empty();
  }
  bool adjacent = false;  ///< with one text: a record's text_pair is its own text, its text that of
                          ///< the record before it in the file, "" for the first
  bool header = false;    ///< the first record of each file names the columns
  std::vector<std::string> output_names;  ///< with a header: names of the columns that the tool
                                          ///< writes; none: no header row (JSON, binary formats)
  bool keeps_line = false;                ///< the tool writes the input line after its columns
  int jobs = 1;                           ///< worker threads
  size_t chunk_records = 128;             ///< a chunk closes at this many records ...
  size_t chunk_bytes = 16 << 10;          ///< ... or bytes, or when input would block
  int output_fd = 1;
  /// Called after a chunk is written, with the records and bytes read so far.
  std::function<void(uint64_t records, uint64_t bytes)> progress;
  /// Hears of a file that cannot be opened; the others are done.
  std::function<void(const Error&)> on_skipped;
  bool skip_bad = false;  ///< a bad record, Error(data), is left out and counted
  bool gold = false;      ///< a field holds the truth: so are blank records at the end of a file
  /// Writes what stands in the place of the rows of a record that is left out; none: nothing.
  /// Called from the workers' threads.
  std::function<void(const Record&, const Error&, Rows&)> write_place;
};

/// Reads records, lets `jobs` workers turn chunks of them into rows, writes the rows in input
/// order. Memory is bounded by a few chunks (and by the longest record). A chunk closes when input
/// would block, so a slow producer gets each row before it sends the next line; a chunk that is
/// alone is run with all threads as one team.
///
/// `make_worker` is called `jobs` times, in the calling thread, before anything is read. Returns
/// the sum of the workers' counts. An Error of a worker ends the run, but for a bad record with
/// skip_bad: rows of earlier records are written, then it is rethrown. Throws Error(io) when
/// reading or writing fails. SIGPIPE keeps its default action.
BERT_API Counts stream(const StreamOptions& options,
                       const std::function<std::unique_ptr<Worker>()>& make_worker);

/// Writes all of `bytes`, whatever the kernel takes at once. Throws Error(io) naming stdout.
BERT_API void write_all(int fd, std::string_view bytes);

}  // namespace bert
