#pragma once

#include <memory>
#include <optional>

#include "heatmap/drawing.h"

namespace bert {

/// What a terminal can show.
enum class TerminalColors { ascii, palette, full };  ///< none; 256; 24 bits

struct TerminalStyle {
  enum class View { fitting, matrix, text };
  TerminalColors colors = TerminalColors::ascii;
  View view = View::fitting;
  size_t width = 80;  ///< columns
  bool dark = true;   ///< its ground: large weights are bright
};

/// Shaded text. A matrix, with the weights where there is room for them, or the record's tokens,
/// each as dark as the weight it gets on average from those that attend; `fitting`: the second
/// where one token attends or a matrix is too wide.
std::unique_ptr<HeatDrawing> draw_terminal(const TerminalStyle& style,
                                           std::optional<float> largest);

}  // namespace bert
