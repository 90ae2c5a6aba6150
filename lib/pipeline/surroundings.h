#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/cells.h"
#include "pipeline/stream.h"

namespace bert {

/// A record beside one that a search found, or this itself.
struct NearRecord {
  std::string file;
  uint64_t number = 0;  ///< over all files; 0: there is none
  uint64_t record = 0;  ///< within its file
  std::string text;
};

/// The records that stand around those which a search found, each with its number over all files.
/// They are read once more, since a search keeps only what it may write: its files can be read
/// twice (see RereadableFiles).
class BERT_API Surroundings {
 public:
  /// `around`: records on each side of one.
  explicit Surroundings(size_t around) : around_(around) {}
  /// Asks for those around the record `number`.
  void want(uint64_t number);
  /// Reads them. `told`: the search itself met a fault, which ends this, too, without a word.
  /// Without one, throws what reading throws.
  void read(StreamOptions stream, bool told);

  /// The records before (`side` -1) or behind (1) one, or itself (0), in its file.
  std::vector<const NearRecord*> of(uint64_t number, int side) const;

 private:
  size_t around_;
  std::map<uint64_t, NearRecord> texts_;  ///< by their numbers; those that are not there have none
};

/// Writes a search's entries, best first, with the records around each. In rows, these have no
/// score, and "--" parts the entries, as grep does; in JSON they are members `before` and `after`.
/// `told`: see Surroundings::read.
template <typename Entry>
void write_with_context(const std::vector<Entry>& entries, size_t around,
                        const StreamOptions& stream, bool told, bool json, Rows& rows) {
  Surroundings surroundings(around);
  for (const Entry& entry : entries) surroundings.want(entry.number);
  surroundings.read(stream, told);
  const auto beside = [&](const Entry& entry, int side) {
    for (const NearRecord* found : surroundings.of(entry.number, side)) {
      Entry::beside(*found, rows);
      rows.end();
    }
  };
  const auto list = [&](const Entry& entry, const char* name, int side) {
    JsonRow(rows.raw()).list(name);
    for (const NearRecord* found : surroundings.of(entry.number, side))
      JsonRow(rows.raw()).text("", found->text);
    JsonRow(rows.raw()).end_list();
  };
  for (const Entry& entry : entries) {
    if (json) {
      JsonRow(rows.raw()).object();
      Cells cells(rows, true);
      entry.cells(cells);
      list(entry, "before", -1);
      for (const NearRecord* own : surroundings.of(entry.number, 0))
        if (Entry::kIsPart) JsonRow(rows.raw()).text("record_text", own->text);
      list(entry, "after", 1);
      JsonRow(rows.raw()).end_object();
      rows.end();
      continue;
    }
    if (&entry != &entries.front()) {
      rows.field("--");
      rows.end();
    }
    beside(entry, -1);
    add_row(rows, false, entry);
    if (Entry::kIsPart) beside(entry, 0);
    beside(entry, 1);
  }
}

}  // namespace bert
