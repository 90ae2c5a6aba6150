#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "io/record.h"

namespace bert {

/// Finds the ends of records of CSV (RFC 4180) in bytes that come in pieces: line ends in a field
/// in quotes end none. A quote within a field that does not begin with one is a letter.
class BERT_API CsvScanner {
 public:
  /// The place of the line feed that ends a record, from `begin` on; npos: it is not there yet.
  size_t find_end(std::string_view bytes, size_t begin);
  void restart() { state_ = State::begin; }

 private:
  enum class State { begin, plain, quoted, quote };  ///< quote: one that ends the field, or is one
  State state_ = State::begin;
};

/// The fields of a record of CSV, without their quotes. Those that have quotes inside are kept in
/// `kept`. Throws Error(data) as Record::fail for a field whose quotes do not fit.
BERT_API std::vector<std::string_view> csv_fields(const Record& record,
                                                  std::deque<std::string>& kept);

/// Field `index` (0-based) of the fields of a record. Throws Error(data) as Record::fail if it has
/// fewer.
BERT_API std::string_view csv_field(const Record& record, std::span<const std::string_view> fields,
                                    size_t index);

/// Appends a field, in quotes if it has a comma, a quote or a line end.
BERT_API void append_csv(std::string& out, std::string_view text);

}  // namespace bert
