#include "io/rows.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "io/csv.h"

namespace bert {

/// Bytes kept free behind a long field. Without them, the terminator of the row could make the
/// buffer grow and copy the field again.
constexpr size_t kRoomBehind = 256;

Rows& Rows::field(std::string_view text) {
  if (!csv_) return line(text);
  separate();
  append_csv(buffer_, text);
  return *this;
}

Rows& Rows::line(std::string_view text) {
  separate();
  if (text.size() > buffer_.capacity() - buffer_.size()) {
    buffer_.reserve(buffer_.size() + text.size() + kRoomBehind);
  }
  buffer_.append(text);
  return *this;
}

Rows& Rows::integer(int64_t value) {
  separate();
  const fmt::format_int digits(value);
  buffer_.append(digits.data(), digits.size());
  return *this;
}

Rows& Rows::field(float value) {
  separate();
  if (std::isnan(value)) {
    buffer_ += "nan";  // fmt writes -nan for a set sign bit
  } else {
    fmt::format_to(std::back_inserter(buffer_), "{}", value);
  }
  return *this;
}

Rows& Rows::number(double value) {
  separate();
  if (std::isnan(value)) {
    buffer_ += "nan";
  } else {
    fmt::format_to(std::back_inserter(buffer_), "{:.6g}", value);
  }
  return *this;
}

Rows& Rows::sum(double value) {
  separate();
  if (std::isnan(value)) {
    buffer_ += "nan";
  } else {
    fmt::format_to(std::back_inserter(buffer_), "{:.9g}", value);
  }
  return *this;
}

void Rows::close_field(size_t begin) {
  if (!csv_) return;
  const std::string text = buffer_.substr(begin);
  buffer_.resize(begin);
  append_csv(buffer_, text);
}

void Rows::end() {
  buffer_.push_back(terminator_);
  in_row_ = false;
}

void Rows::drop_unfinished() {
  if (in_row_) buffer_.resize(row_begin_);
  in_row_ = false;
}

}  // namespace bert
