#include "io/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bert {

Cells& Cells::text(std::string_view name, std::string_view value) {
  if (names(name)) return *this;
  if (json_) {
    JsonRow(rows_->raw()).text(name, value);
  } else {
    rows_->field(value);
  }
  return *this;
}

Cells& Cells::passage(std::string_view name, std::string_view value) {
  text(name, value);
  if (Rows* row = fields()) {
    std::string& out = row->raw();
    std::replace(out.end() - static_cast<ptrdiff_t>(value.size()), out.end(), '\t', ' ');
  }
  return *this;
}

Cells& Cells::integer(std::string_view name, int64_t value) {
  if (names(name)) return *this;
  if (json_) {
    JsonRow(rows_->raw()).count(name, value);
  } else {
    rows_->field(value);
  }
  return *this;
}

Cells& Cells::digits(std::string_view name, double value, int significant) {
  if (names(name)) return *this;
  if (json_) {
    JsonRow(rows_->raw()).digits(name, value, significant);
  } else {
    rows_->digits(value, significant);
  }
  return *this;
}

Cells& Cells::exact(std::string_view name, float value) {
  if (names(name)) return *this;
  if (json_) {
    JsonRow(rows_->raw()).exact(name, value);
  } else {
    rows_->field(value);
  }
  return *this;
}

Cells& Cells::vector(std::string_view name, std::span<const float> values) {
  if (json_) {
    JsonRow(rows_->raw()).exact(name, values);
    return *this;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!names(fmt::format("v{}", i + 1))) rows_->field(values[i]);
  }
  return *this;
}

}  // namespace bert
