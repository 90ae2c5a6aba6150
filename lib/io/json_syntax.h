#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bert {

inline constexpr size_t kJsonDepth = 64;  ///< arrays and objects inside each other

struct JsonFault {
  size_t offset;  ///< bytes
  std::string reason;
};

/// The first place where `text` breaks RFC 8259 or nests deeper than `max_depth`; nullopt if none
/// does. Slower than the parser, which tells no place; run only to say where it failed. Uses no
/// recursion.
std::optional<JsonFault> find_json_fault(std::string_view text, size_t max_depth = kJsonDepth);

/// `text`, valid JSON, with ".0" after every integer that 64 bits cannot hold.
std::string widen_json_integers(std::string_view text);

}  // namespace bert
