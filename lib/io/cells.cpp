#include "io/cells.h"

#include <fmt/format.h>

#include <algorithm>

namespace bert {

Cells& Cells::passage(std::string_view name, std::string_view value) {
  text(name, value);
  if (fields_) {
    std::string& out = fields_->raw();
    if (!fields_->csv())
      std::replace(out.end() - static_cast<ptrdiff_t>(value.size()), out.end(), '\t', ' ');
  }
  return *this;
}

Cells& Cells::vector(std::string_view name, std::span<const float> values) {
  if (members_) JsonRow(members_->raw()).exact(name, values);
  for (size_t i = 0; fields_ && i < values.size(); ++i) fields_->field(values[i]);
  for (size_t i = 1; names_ && i <= values.size(); ++i) names_->push_back(fmt::format("v{}", i));
  return *this;
}

Cells& Cells::other_text(std::string_view name, std::string_view value) {
  if (members_) JsonRow(members_->raw()).text(name, value);
  if (names_) names_->emplace_back(name);
  return *this;
}

Cells& Cells::other_count(std::string_view name, int64_t value) {
  if (members_) JsonRow(members_->raw()).count(name, value);
  if (names_) names_->emplace_back(name);
  return *this;
}

Cells& Cells::other_digits(std::string_view name, double value, int significant) {
  if (members_) JsonRow(members_->raw()).digits(name, value, significant);
  if (names_) names_->emplace_back(name);
  return *this;
}

Cells& Cells::other_exact(std::string_view name, float value) {
  if (members_) JsonRow(members_->raw()).exact(name, value);
  if (names_) names_->emplace_back(name);
  return *this;
}

}  // namespace bert
