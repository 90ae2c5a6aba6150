#include "rows/spans.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/parse.h"

namespace bert {
namespace {

/// "12-15" as two numbers, the first not above the second.
std::optional<Offset> parse_span(std::string_view item) {
  const auto begin = take_number<uint32_t>(item);
  if (!begin || !item.starts_with('-')) return std::nullopt;
  const auto end = to_number<uint32_t>(item.substr(1));
  if (!end || *end < *begin) return std::nullopt;
  return Offset{*begin, *end};
}

}  // namespace

std::vector<Offset> parse_spans(const Record& record, std::string_view field) {
  std::vector<Offset> spans;
  for (const std::string_view item : split(field, ' ', EmptyParts::skip)) {
    const auto span = parse_span(item);
    if (!span || span->end > record.text.size()) {
      record.fail(Error::Kind::data,
                  fmt::format("found the span '{}', wants BEGIN-END within {} bytes",
                              printable(item), record.text.size()));
    }
    spans.push_back(*span);
  }
  return spans;
}

}  // namespace bert
