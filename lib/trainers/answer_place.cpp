#include "trainers/answer_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace bert {
namespace {

constexpr size_t kShown = 60;  // bytes of an answer in a message

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// What a character that begins with this byte counts.
int64_t width(char first, StartUnit unit) {
  const bool astral = static_cast<unsigned char>(first) >= 0xF0;  // a pair of surrogates
  return unit == StartUnit::utf16 && astral ? 2 : 1;
}

/// What `start` should be for the byte `begin`.
int64_t start_of(std::string_view text, size_t begin, StartUnit unit) {
  if (unit == StartUnit::bytes) return static_cast<int64_t>(begin);
  int64_t count = 0;
  for (const char c : text.substr(0, begin)) count += begins_character(c) ? width(c, unit) : 0;
  return count;
}

std::string_view name(StartUnit unit) {
  constexpr std::array<std::string_view, 3> kNames{"byte", "code point", "UTF-16 unit"};
  return kNames[static_cast<size_t>(unit)];
}

}  // namespace

size_t byte_of(std::string_view text, int64_t start, StartUnit unit) {
  if (start < 0) return text.npos;
  if (unit == StartUnit::bytes) {
    const auto byte = static_cast<size_t>(start);
    return byte < text.size() && begins_character(text[byte]) ? byte : text.npos;
  }
  for (size_t byte = 0; byte < text.size(); ++byte) {
    if (!begins_character(text[byte])) continue;
    if (start == 0) return byte;
    start -= width(text[byte], unit);
    if (start < 0) break;
  }
  return text.npos;
}

bool stands_at(std::string_view context, size_t begin, std::string_view answer) {
  return begin <= context.size() && context.substr(begin).starts_with(answer);
}

size_t nearest_place(std::string_view context, size_t begin, std::string_view answer) {
  if (begin == context.npos) return context.find(answer);
  const size_t before = context.rfind(answer, begin), after = context.find(answer, begin);
  if (before == context.npos || after == context.npos) return std::min(before, after);
  return begin - before <= after - begin ? before : after;
}

std::string misplaced(std::string_view context, int64_t start, StartUnit unit,
                      std::string_view answer) {
  const size_t begin = byte_of(context, start, unit);
  std::string text = fmt::format("the answer '{}' does not stand at {} {} of the context",
                                 printable(answer, kShown), name(unit), start);
  if (begin != context.npos) {
    const int64_t length = start_of(answer, answer.size(), unit);
    const std::string_view rest = context.substr(begin);
    text += fmt::format(", where '{}' stands",
                        printable(rest.substr(0, byte_of(rest, length, unit)), kShown));
  }
  const size_t place = nearest_place(context, begin, answer);
  if (place == context.npos) {
    return text + ", nor anywhere in it; `find_answers` leaves such questions out";
  }
  text += fmt::format("; it stands at {}", start_of(context, place, unit));
  for (const StartUnit other : {StartUnit::bytes, StartUnit::code_points, StartUnit::utf16}) {
    if (other == unit || !stands_at(context, byte_of(context, start, other), answer)) continue;
    text += fmt::format(", since {} counts {}s", start, name(other));
    break;
  }
  return text + "; `find_answers` takes the nearest place";
}

}  // namespace bert
