#pragma once

#include <string>

#include "common/command.h"
#include "io/input_kind.h"

namespace bert::tools {

/// Adds --as-text, after which any input is wanted.
void add_as_text(Command& app, Wanted& wanted);

/// Declares --csv and --no-header of a tool that has --header. Returns --csv.
Declared add_csv(Command& app, const char* meaning, bool& csv, bool& no_header);

/// A message about the input of another tool, with the names of that tool's options.
std::string with_input_options(std::string text);

}  // namespace bert::tools
