#pragma once

#include <string>

#include "common/command.h"
namespace bert::tools {

/// A completion script of `tool` for bash, zsh or fish, made from the options of `app`. Throws
/// Error(usage) for another shell.
std::string completion(const Command& app, const std::string& tool, const std::string& shell);

}  // namespace bert::tools
