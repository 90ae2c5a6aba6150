#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "io/csv.h"
#include "io/record.h"
#include "pipeline/stream.h"

namespace bert {

/// Refuses more extra fields than a record has room for.
void check_extra(const StreamOptions& options, size_t count);

/// A hint for a message about a line that looks like CSV; else "".
BERT_API std::string_view comma_hint(std::string_view line);

/// Which fields of a line are the texts and extra fields. Field numbers are known at once, names
/// after a header was read.
class BERT_API Columns {
 public:
  /// Throws Error(usage) for a field that is not a number if there is no header, or a wrong count
  /// of fields.
  explicit Columns(const StreamOptions& options);

  /// Finds the columns of the names in a header line. Throws Error(data) that names an unknown
  /// column.
  void read_header(const Record& header);
  /// The extra field of this number is the field behind the last text. Call it after read_header,
  /// if that was called.
  void put_behind_texts(size_t extra);
  /// Sets text, text_pair and extra of `record` from its line. Throws Error(data) that names the
  /// record. `kept` has texts of CSV with quotes inside.
  void choose(Record& record, std::deque<std::string>& kept) const;

 private:
  void choose_csv(Record& record, std::deque<std::string>& kept) const;
  std::vector<std::string_view> names_of(const Record& header, std::deque<std::string>& kept) const;

  std::vector<std::string> wanted_;  ///< texts, then extras
  std::vector<size_t> index_;        ///< 0-based
  size_t texts_;
  bool whole_line_;
  bool csv_;
};

}  // namespace bert
