#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/record.h"
#include "pipeline/stream.h"

namespace bert {

/// Which fields of a line are the texts and extras; numbers at once, names after a header was seen.
class Columns {
 public:
  /// Throws Error(usage) for a field that is no number when there is no header, or a wrong count of
  /// fields.
  explicit Columns(const StreamOptions& options);

  /// Resolves names by a header line. Throws Error(data) naming an unknown column and the nearest.
  void read_header(const Record& header);
  /// Sets text, text_pair and extra of `record` from its line. Throws Error(data) naming the
  /// record.
  void choose(Record& record) const;

 private:
  std::vector<std::string> wanted_;  ///< texts, then extras
  std::vector<size_t> index_;        ///< 0-based
  size_t texts_;
  bool whole_line_;
};

}  // namespace bert
