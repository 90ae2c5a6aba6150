#pragma once

#include <string_view>

namespace bert {

/// The kind of a file by its first bytes, for a message when it is not the model file that it
/// should be: "a zip archive", "a git-lfs pointer, not the file itself" ...; empty if the kind is
/// unknown.
std::string_view file_kind(std::string_view start);

}  // namespace bert
