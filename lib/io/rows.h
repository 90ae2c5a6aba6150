#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// The output rows of one chunk: fields separated by TAB, rows ended by LF (NUL with -0), no
/// quoting; or rows of CSV, with quotes where a field needs them. Numbers are written the same in
/// every locale.
class BERT_API Rows {
 public:
  explicit Rows(char terminator = '\n', bool csv = false) : terminator_(terminator), csv_(csv) {}

  Rows& field(std::string_view text);
  /// Fields of the input, as they stand there.
  Rows& line(std::string_view fields);
  template <std::integral T>
  Rows& field(T value) {
    return integer(static_cast<int64_t>(value));
  }
  /// The shortest text that reads back as the same float; also nan, inf, -inf.
  Rows& field(float value);
  /// A probability or score with six significant digits.
  Rows& number(double value);
  /// A sum of logarithms with nine.
  Rows& sum(double value);
  /// Ends the row; an empty row is a row.
  void end();

  /// The bytes from `begin` on, which were written raw, are the last field: quotes it in CSV.
  void close_field(size_t begin);

  /// Raw bytes, for JSON and binary formats: no separators.
  std::string& raw() { return buffer_; }
  const std::string& bytes() const { return buffer_; }
  char terminator() const { return terminator_; }
  bool csv() const { return csv_; }
  void clear() { truncate(0); }
  /// Forgets what was written after the first `size` bytes.
  void truncate(size_t size) {
    buffer_.resize(size);
    in_row_ = false;
  }
  /// Takes back the fields of a row that was not ended.
  void drop_unfinished();

 private:
  Rows& integer(int64_t value);
  void separate() {
    if (in_row_) {
      buffer_.push_back(csv_ ? ',' : '\t');
    } else {
      row_begin_ = buffer_.size();
    }
    in_row_ = true;
  }

  std::string buffer_;
  char terminator_;
  bool csv_;
  size_t row_begin_ = 0;  // begin of the row that is not ended
  bool in_row_ = false;
};

}  // namespace bert
