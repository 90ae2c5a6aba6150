#pragma once

#include <memory>
#include <optional>

#include "heatmap/drawing.h"

namespace bert {

/// The words of records (HeatRows::words), each on the shade of its surprisal: one SVG drawing, or
/// one HTML page that needs nothing else.
std::unique_ptr<HeatDrawing> draw_words_svg(std::optional<float> largest);
std::unique_ptr<HeatDrawing> draw_words_html(std::optional<float> largest);

}  // namespace bert
