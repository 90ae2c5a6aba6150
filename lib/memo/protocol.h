#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/export.h"
#include "io/input_kind.h"
#include "io/record.h"

namespace bert {

/// What memo and the tool that it runs say to each other, over the tool's standard input and
/// output. The tool begins with a greeting. Then each request is a record, and the tool
/// answers the requests in their order, each with one reply. The header of a file is a request
/// with the number 0.
///
///   greeting   memo 3 TERMINATOR CSV NUMBERS HEADER SKIP WANTED BYTES BYTES LF begin key
///   request    BYTES TAB NUMBER TAB NUMBER_IN_FILE TAB FILE TAB line TERMINATOR
///   reply      NUMBER BYTES BYTES LF rows message

/// What decides how memo reads records and writes rows; the tool knows it, memo asks no other way.
struct BERT_API Greeting {
  /// What the rows of a record begin with, which is not among the bytes of a reply:
  /// nothing; the number; `{"record":` and the number.
  enum class Numbers { none, field, json };

  char terminator = '\n';
  bool csv = false;  ///< records are those of CSV
  Numbers numbers = Numbers::none;
  bool header = false;           ///< the first record of each file is a header
  bool skip_bad = false;         ///< a bad record has a reply; else it ends the tool
  Wanted wanted = Wanted::text;  ///< memo refuses other input
  std::string begin;             ///< bytes that stand before all rows
  std::string key;               ///< the same key and record always give the same rows

  /// The greeting as bytes.
  std::string bytes() const;
  /// Whether rows are CSV, so that a line end in quotes ends none.
  bool csv_rows() const { return csv && numbers != Numbers::json; }
};

/// The rows of one record.
struct Reply {
  uint64_t number = 0;
  std::string rows;     ///< without what Greeting::Numbers says
  std::string message;  ///< fault of a bad record; else empty
};

/// Takes a row with its terminator off the begin of `rows`; "" if there is no whole one. `csv`: a
/// line end in quotes ends none.
BERT_API std::string_view take_row(std::string_view& rows, char terminator, bool csv);
/// What a row begins with.
BERT_API std::string row_begin(Greeting::Numbers numbers, uint64_t number);

BERT_API void append_request(std::string& out, const Record& record, char terminator);
BERT_API void append_reply(std::string& out, const Reply& reply);

/// Takes a whole greeting or reply from the start of `bytes`. False, and `bytes` stays, if it is
/// not whole yet. Throws Error(protocol) for bytes that are none.
BERT_API bool take_greeting(std::string_view& bytes, Greeting& greeting);
BERT_API bool take_reply(std::string_view& bytes, Reply& reply);

/// Takes what stands before the line of a request, which becomes the line of `record`, and sets the
/// record's numbers. Returns the name of its file. Throws Error(data).
BERT_API std::string_view take_request(Record& record);

}  // namespace bert
