#pragma once

#include <memory>
#include <optional>

#include "heatmap/drawing.h"

namespace bert {

/// One SVG document: a matrix for each head, those of a layer side by side.
std::unique_ptr<HeatDrawing> draw_svg(std::optional<float> largest);

}  // namespace bert
