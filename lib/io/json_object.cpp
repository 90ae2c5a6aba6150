#include "io/json_object.h"

#include <algorithm>

#include "io/json.h"

namespace bert {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

/// The end of the string literal that begins at `begin`.
size_t end_of_string(std::string_view text, size_t begin) {
  size_t i = begin + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

/// The end of the value that begins at `begin`: of a scalar, or behind its last bracket.
size_t end_of_value(std::string_view text, size_t begin) {
  size_t depth = 0, i = begin;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"') {
      i = end_of_string(text, i);
      if (depth == 0) return i;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || kBlanks.find(c) != kBlanks.npos)) break;
    depth += c == '{' || c == '[';
    if (c == '}' || c == ']') --depth;
    ++i;
    if (depth == 0 && (c == '}' || c == ']')) break;
  }
  return i;
}

/// Two literals may spell one key in two ways.
std::string decoded(std::string_view literal) {
  if (literal.find('\\') == literal.npos) return std::string(literal.substr(1, literal.size() - 2));
  return std::string(JsonDocument::parse(literal, "").root().as_string());
}

}  // namespace

std::vector<JsonMember> json_members(std::string_view object) {
  std::vector<JsonMember> members;
  const auto skip = [&](std::string_view passed, size_t i) {
    return std::min(object.find_first_not_of(passed, i), object.size());
  };
  size_t i = skip(kBlanks, 0) + 1;  // behind the brace
  while ((i = skip(" \t\n\r,", i)) < object.size() && object[i] == '"') {
    const size_t key_end = end_of_string(object, i);
    const size_t value = skip(" \t\n\r:", key_end);
    const size_t end = end_of_value(object, value);
    members.push_back({object.substr(i, key_end - i), object.substr(value, end - value),
                       object.substr(i, end - i)});
    i = end;
  }
  return members;
}

void append_with_members(std::string& out, std::string_view object,
                         const std::vector<JsonMember>& added) {
  const std::vector<JsonMember> own = json_members(object);
  std::vector<std::string> keys;
  for (const JsonMember& member : added) keys.push_back(decoded(member.key));
  const auto replaced = [&](const JsonMember& member) {
    return std::find(keys.begin(), keys.end(), decoded(member.key)) != keys.end();
  };
  if (std::none_of(own.begin(), own.end(), replaced)) {  // with the blanks between its members
    const size_t brace = object.rfind('}');
    const size_t end = brace == 0 ? 0 : object.find_last_not_of(kBlanks, brace - 1) + 1;
    out += object.substr(0, end);
    bool comma = !own.empty();
    for (const JsonMember& member : added) {
      if (comma) out += ',';
      out += member.bytes;
      comma = true;
    }
    out += object.substr(end, brace + 1 - end);
    return;
  }
  const char* separator = "{";
  const auto add = [&](const JsonMember& member) {
    out += separator;
    out += member.bytes;
    separator = ",";
  };
  for (const JsonMember& member : own) {
    if (!replaced(member)) add(member);
  }
  for (const JsonMember& member : added) add(member);
  out += *separator == '{' ? "{}" : "}";
}

}  // namespace bert
