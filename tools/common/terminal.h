#pragma once

#include <cstddef>

#include "heatmap/drawing.h"

namespace bert::tools {

/// What standard output shows, by the conventions of terminals: none if it is no terminal or
/// NO_COLOR is set (no-color.org); else by COLORTERM and TERM.
TerminalColors terminal_colors();

/// The columns of standard output if it is a terminal, else COLUMNS, else 80.
size_t terminal_width();

}  // namespace bert::tools
