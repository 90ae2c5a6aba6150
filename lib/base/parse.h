#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace bert {

enum class EmptyParts { keep, skip };

/// The parts of `text` between separators. An empty text is one empty part.
inline std::vector<std::string_view> split(std::string_view text, char separator,
                                           EmptyParts empty = EmptyParts::keep) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin || empty == EmptyParts::keep) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The parts of a list with commas; none of an empty text.
inline std::vector<std::string> list_with_commas(std::string_view text) {
  if (text.empty()) return {};
  const auto parts = split(text, ',');
  return {parts.begin(), parts.end()};
}

template <typename T>
std::from_chars_result read_number(const char* begin, const char* end, T& value) {
  return std::from_chars(begin, end, value);
}
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
/// libc++ before LLVM 20 has std::from_chars for whole numbers only.
BERT_API std::from_chars_result read_number(const char* begin, const char* end, double& value);
#endif

/// The number at the start of `text`, which loses it; nullopt, and `text` stays, if there is none
/// or T cannot hold it. As std::from_chars: no blanks before it, no plus sign.
template <typename T>
std::optional<T> take_number(std::string_view& text) {
  T value{};
  const auto [end, error] = read_number(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

/// All of `text` as a number; nullopt if it is anything else.
template <typename T>
std::optional<T> to_number(std::string_view text) {
  const auto value = take_number<T>(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace bert
