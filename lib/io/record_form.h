#pragma once

namespace bert {

/// What the records of a file are: lines of columns, records of CSV, or JSON objects.
struct RecordForm {
  bool header = false;      ///< the first line of a file names the columns
  bool csv = false;         ///< CSV (RFC 4180), whose first record does that ...
  bool no_header = false;   ///< ... unless it has no header
  bool json_lines = false;  ///< JSON objects: fields are keys in them

  bool has_header() const { return header || (csv && !no_header); }
  bool has_names() const { return has_header() || json_lines; }
};

}  // namespace bert
