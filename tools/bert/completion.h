#pragma once

#include <string>

namespace bert::driver {

/// A completion script of `bert` for bash, zsh or fish; or the names that may follow `bert`, one a
/// line, for `names`. Throws Error(usage) for others.
std::string completion(const std::string& shell);

}  // namespace bert::driver
