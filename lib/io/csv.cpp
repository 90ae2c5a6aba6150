#include "io/csv.h"

#include <fmt/format.h>

#include <algorithm>

namespace bert {

size_t CsvScanner::find_end(std::string_view bytes, size_t begin) {
  for (size_t i = begin; i < bytes.size(); ++i) {
    const char c = bytes[i];
    switch (state_) {
      case State::quoted:
        if (c == '"') state_ = State::quote;
        continue;
      case State::quote:
        if (c == '"') {
          state_ = State::quoted;
          continue;
        }
        break;
      case State::begin:
        if (c == '"') {
          state_ = State::quoted;
          continue;
        }
        break;
      case State::plain:
        break;
    }
    state_ = c == ',' || c == '\n' ? State::begin : State::plain;
    if (c == '\n') return i;
  }
  return std::string_view::npos;
}

namespace {

/// Takes the field in quotes from the begin of `rest`.
std::string_view take_quoted(const Record& record, size_t number, std::string_view& rest,
                             std::deque<std::string>& kept) {
  size_t end = rest.find('"', 1);
  bool doubled = false;
  while (end != rest.npos && rest.substr(end, 2) == "\"\"") {
    doubled = true;
    end = rest.find('"', end + 2);
  }
  if (end == rest.npos) {
    record.fail(Error::Kind::data,
                fmt::format("field {} begins with a quote and has no end", number));
  }
  std::string_view text = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  if (!rest.empty() && rest[0] != ',') {
    record.fail(Error::Kind::data, fmt::format("field {} has a text behind its quotes", number));
  }
  if (!doubled) return text;
  std::string& own = kept.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    own += text[i];
    if (text[i] == '"') ++i;
  }
  return own;
}

}  // namespace

std::vector<std::string_view> csv_fields(const Record& record, std::deque<std::string>& kept) {
  std::vector<std::string_view> fields;
  for (std::string_view rest = record.body();; rest.remove_prefix(1)) {
    if (rest.starts_with('"')) {
      fields.push_back(take_quoted(record, fields.size() + 1, rest, kept));
    } else {
      fields.push_back(rest.substr(0, rest.find(',')));
      rest.remove_prefix(fields.back().size());
    }
    if (rest.empty()) return fields;
  }
}

std::string_view csv_field(const Record& record, std::span<const std::string_view> fields,
                           size_t index) {
  if (index < fields.size()) return fields[index];
  record.fail(Error::Kind::data, fmt::format("found {} field{}, wants at least {}", fields.size(),
                                             fields.size() == 1 ? "" : "s", index + 1));
}

void append_csv(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

}  // namespace bert
