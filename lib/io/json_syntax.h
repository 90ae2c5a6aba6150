#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bert {

inline constexpr size_t kJsonDepth = 64;  ///< most levels of nested arrays and objects

struct JsonFault {
  size_t offset;  ///< bytes
  std::string reason;
};

/// The first place where `text` breaks RFC 8259 or nests deeper than `max_depth`; nullopt if it
/// does neither. The parser is faster but gives no place, so this runs only after the parser
/// failed. It does not recurse.
std::optional<JsonFault> find_json_fault(std::string_view text, size_t max_depth = kJsonDepth);

/// `text`, valid JSON, with "0" for every number that is too large for a double.
std::string without_huge_numbers(std::string_view text);

/// `text`, valid JSON, with ".0" after every integer that 64 bits cannot hold.
std::string widen_json_integers(std::string_view text);

}  // namespace bert
