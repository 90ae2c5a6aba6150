#pragma once

#include <string>

namespace bert::driver {

/// A row for each program: its name, a tab or enough blanks, its summary.
std::string list(bool aligned);
/// What --help prints: the options, and the list in columns.
std::string usage();

}  // namespace bert::driver
