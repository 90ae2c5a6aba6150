#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include "base/utf8.h"

namespace bert {
namespace {

constexpr size_t kLongestMessage = 2000;  // characters; callers cut quoted values

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;  // C1: U+0080..009F
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
}

Error::Kind kind_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EISDIR:
    case ENXIO:
    case ENOEXEC:
      return Error::Kind::no_input;
    case EACCES:
    case EPERM:
    case EROFS:
      return Error::Kind::permission;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
      return Error::Kind::no_memory;
    default:
      return Error::Kind::io;
  }
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++characters) {
    if (limit != 0 && characters == limit) return out += "...";
    const auto [length, valid] = utf8_step(text, i);
    const std::string_view character = text.substr(i, length);
    if (!valid || is_control(character)) {
      append_escaped(out, character);
    } else {
      out += character;
    }
    i += character.size();
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of("\t\n", begin), text.size());
    out += printable(text.substr(begin, end - begin), 0);
    if (end < text.size()) out += text[end];
    begin = end + 1;
  }
  return out;
}

Error::Error(Kind kind, std::string_view where, std::string_view what)
    : kind_(kind), has_place_(!where.empty()) {
  if (!where.empty()) message_ = printable(where, 0) + ": ";
  message_ += printable(what, kLongestMessage);
}

Error Error::of_field(std::string_view field, std::string_view what, Kind kind) {
  const std::string name(field);
  Error error(kind, name.empty() ? name : "`" + name + "`", what);
  error.field_ = name;
  return error;
}

Error Error::from_errno(std::string_view where, std::string_view action, int error_number) {
  std::string what(action);
  if (!what.empty()) what += ": ";
  what += std::generic_category().message(error_number);
  return {kind_of(error_number), where.empty() ? "''" : where, what};
}

}  // namespace bert
