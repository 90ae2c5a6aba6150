#pragma once

#include <string_view>

namespace bert {

/// What the first bytes of a file show it to be, when a model's file was wanted: "an HTML page",
/// "a git-lfs pointer, not the file itself" ..; empty if nothing is known.
std::string_view file_kind(std::string_view start);

}  // namespace bert
