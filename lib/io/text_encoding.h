#pragma once

#include <string_view>

namespace bert {

/// Whether the first line of `start` reads as UTF-16 or UTF-32 without a mark and not as UTF-8. A
/// text in UTF-8 is none of them unless it has NULs or as many control bytes as characters.
bool is_utf16_le(std::string_view start);
bool is_utf16_be(std::string_view start);
bool is_utf32_le(std::string_view start);
bool is_utf32_be(std::string_view start);

}  // namespace bert
