#include "io/json_row.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "io/json.h"

namespace bert {

JsonRow& JsonRow::key(std::string_view name) {
  // What a value ends with is none of these; a row ends with one of the last two.
  constexpr std::string_view kNoComma("{[:\n\0", 5);
  if (!out_.empty() && kNoComma.find(out_.back()) == kNoComma.npos) out_ += ',';
  if (name.empty()) return *this;
  out_ += '"';
  out_ += name;
  out_ += "\":";
  return *this;
}

JsonRow& JsonRow::entry(std::string_view name) {
  text("", name);
  return add(':');
}

JsonRow& JsonRow::text(std::string_view name, std::string_view value) {
  key(name);
  append_json_string(out_, value);
  return *this;
}

JsonRow& JsonRow::digits(std::string_view name, double value, int significant) {
  if (!std::isfinite(value)) return null(name);
  key(name);
  fmt::format_to(std::back_inserter(out_), "{:.{}g}", value, significant);
  return *this;
}

JsonRow& JsonRow::exact(std::string_view name, float value) {
  if (!std::isfinite(value)) return null(name);
  key(name);
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonRow& JsonRow::exact(std::string_view name, std::span<const float> values) {
  list(name);
  for (const float value : values) exact("", value);
  return end_list();
}

JsonRow& JsonRow::raw(std::string_view name, std::string_view value) {
  key(name);
  out_ += value;
  return *this;
}

}  // namespace bert
