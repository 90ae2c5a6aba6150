#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/record_reader.h"
#include "pipeline/worker.h"

namespace bert {

struct Job;

/// How input is cut into records and fields, and how records are run.
struct StreamOptions {
  std::vector<std::string> files;  ///< empty: stdin; "-": stdin
  std::set<std::string> found;     ///< files that folders have: see RecordReader
  char terminator = '\n';          ///< LF, or NUL
  size_t texts = 1;                ///< texts per record: 1, or 2 for pair tools
  bool paragraphs = false;         ///< a record is lines up to an empty line; its text is all of it
  bool csv = false;                ///< records and rows are CSV (RFC 4180)
  bool counted = false;            ///< `place` takes the bytes of a record off a counted one
  std::vector<std::string> fields;  ///< 1-based numbers, or names with a header; empty: the whole
                                    ///< line (texts 1) or fields 1 and 2 (texts 2)
  bool more_texts = false;  ///< `fields` may name more than the texts: the first extra fields
  struct ExtraField {
    std::string name;  ///< name of the setting that chose the field, for messages: "gold"
    std::string field;
  };
  std::vector<ExtraField> extra_fields;  ///< more fields for the tool (a gold label, a group)
  /// Adds an extra field, if `field` names one.
  void want_field(const char* name, const std::string& field) {
    if (!field.empty()) extra_fields.push_back({name, field});
  }
  /// Adds the field of a record's gold label, if `field` names one.
  void want_truth(const char* name, const std::string& field) {
    want_field(name, field);
    gold |= !field.empty();
  }
  Wanted wanted = Wanted::text;  ///< other input is refused
  bool json_lines = false;  ///< a record is a JSON object, and `fields` are keys in it, with dots
                            ///< for those of objects inside
  bool adjacent = false;    ///< for tools of one text: text_pair is the record's own text, and text
                            ///< is that of the record before it in the file, "" for the first
  bool header = false;      ///< the first record of each file names the columns
  std::vector<std::string> output_names;  ///< with a header: names of the columns that the tool
                                          ///< writes; empty: no header row (JSON, binary formats)
  bool keeps_line = false;                ///< the tool writes the input line after its columns
  int jobs = 1;                           ///< worker threads
  size_t chunk_records = 128;             ///< a chunk closes at this many records ...
  size_t chunk_bytes = 16 << 10;          ///< ... or bytes, or when input would block
  int output_fd = 1;
  /// If set, gets the rows instead of output_fd; never called from two threads at once.
  std::function<void(std::string_view rows)> write;
  /// The same with the records of the rows: see intake.h.
  std::function<void(const Job& job)> write_job;
  /// Called once all is checked that needs no record, before the first is read.
  std::function<void()> begin;
  /// Called with each line, headers too, before its fields are chosen. It may cut the begin of the
  /// line and change the numbers and the file.
  std::function<void(Record& record)> place;
  /// Called after a chunk is written, with the records whose rows are written and their bytes.
  std::function<void(uint64_t records, uint64_t bytes)> progress;
  /// Called with the error of a file that cannot be opened; the run goes on with the other files.
  std::function<void(const Error&)> on_skipped;
  bool skip_bad = false;  ///< leaves out and counts a record that throws Error(data)
  bool gold = false;  ///< a field has the gold label; blank records at the end of a file are left
                      ///< out and counted
  /// Writes rows in place of a record that is left out; empty: writes nothing. Called from the
  /// workers' threads.
  std::function<void(const Record&, const Error&, Rows&)> write_place;
};

/// Reads records, lets `jobs` workers turn chunks of records into rows, and writes the rows in
/// input order. Memory is bounded: a few chunks, 64 MB of rows that wait, the longest record. A
/// chunk closes when input would block, so a slow producer gets each row before it sends the next
/// line. All threads share the work of a chunk that is alone.
///
/// Calls `make_worker` `jobs` times, in the calling thread, before it reads. Returns the sum of the
/// workers' counts. An Error of a worker, except for a bad record with skip_bad, ends the run: the
/// rows of earlier records are written, then it is rethrown. Throws Error(io) if reading or writing
/// fails. SIGPIPE keeps its default action.
BERT_API Counts stream(const StreamOptions& options,
                       const std::function<std::unique_ptr<Worker>()>& make_worker);

/// Writes all of `bytes`, also if the kernel takes only parts. Throws Error(io) that names stdout.
BERT_API void write_all(int fd, std::string_view bytes);
/// The same for rows. A terminal gets them as printable_lines(), since a text or a label may have
/// bytes that it would obey; files and pipes get the bytes as they are.
BERT_API void write_shown(int fd, std::string_view rows);

}  // namespace bert
