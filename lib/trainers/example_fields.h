#pragma once

#include <deque>
#include <optional>
#include <string>

#include "pipeline/columns.h"
#include "pipeline/json_lines.h"
#include "trainers/examples.h"

namespace bert {

/// Which fields of a record are the texts and the label of an example: columns, or members of a
/// JSON object.
class ExampleFields {
 public:
  /// Throws Error that names the wrong field.
  explicit ExampleFields(const ExampleOptions& options);

  bool header() const { return header_; }
  void read_header(const Record& header);
  /// Sets the texts and the label of `record`, which are valid until the next call. Throws
  /// Error(data) that names the record.
  void choose(Record& record);

 private:
  void choose_columns(Record& record);
  void choose_members(Record& record);

  LabelKind kind_;
  bool header_;
  bool csv_;
  bool label_follows_;  ///< the label is the field behind the texts
  std::optional<Columns> columns_;
  std::optional<JsonFields> keys_;   ///< in place of columns
  std::deque<std::string> decoded_;  ///< texts of the last record
};

}  // namespace bert
