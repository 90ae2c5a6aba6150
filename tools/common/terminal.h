#pragma once

#include <cstddef>
#include <string_view>

#include "heatmap/terminal.h"

namespace bert::tools {

/// What standard output shows, by the conventions of terminals: none if it is no terminal or
/// NO_COLOR is set (no-color.org); else by COLORTERM and TERM.
TerminalColors terminal_colors();

/// Writes rows of fields between tabs to standard output. On a terminal, blanks bring the fields of
/// a column below each other.
void print_rows(std::string_view rows);

/// Whether the ground of the terminal is dark: by COLORFGBG; else, if standard output is a
/// terminal, as it answers; else true.
bool terminal_is_dark();

/// The columns of the terminal `fd`, standard output or error; if it is none, COLUMNS, else 80.
size_t terminal_width(int fd = 1);

}  // namespace bert::tools
