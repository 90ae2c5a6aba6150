#include "base/error.h"

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace bert {
namespace {

constexpr size_t kLongestMessage = 2000;  // characters; a caller that quotes a value cuts it itself

/// Length of the valid UTF-8 character at `text[i]` (Unicode 3.9, table 3-7); 0 if there is none.
size_t character_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) -> unsigned {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u;
  };
  const auto tail = [&](size_t k) { return (byte(k) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return tail(1) ? 2 : 0;
  if (lead < 0xF0) {
    const bool in_range = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second > 0x9F);
    return in_range && tail(1) && tail(2) ? 3 : 0;
  }
  if (lead > 0xF4) return 0;
  const bool in_range = !(lead == 0xF0 && second < 0x90) && !(lead == 0xF4 && second > 0x8F);
  return in_range && tail(1) && tail(2) && tail(3) ? 4 : 0;
}

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
      return Error::Kind::no_input;
    case EACCES:
    case EPERM:
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
    const size_t length = character_length(text, i);
    const std::string_view character = text.substr(i, length == 0 ? 1 : length);
    if (length == 0 || is_control(character)) {
      append_escaped(out, character);
    } else {
      out += character;
    }
    i += character.size();
  }
  return out;
}

Error::Error(Kind kind, std::string_view where, std::string_view what) : kind_(kind) {
  if (!where.empty()) message_ = printable(where, 0) + ": ";
  message_ += printable(what, kLongestMessage);
}

Error Error::from_errno(std::string_view where, std::string_view action, int error_number) {
  std::string what(action);
  if (!what.empty()) what += ": ";
  what += std::generic_category().message(error_number);
  return {kind_of(error_number), where, what};
}

}  // namespace bert
