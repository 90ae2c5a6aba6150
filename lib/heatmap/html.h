#pragma once

#include <memory>
#include <optional>

#include "heatmap/drawing.h"

namespace bert {

/// One HTML page that needs nothing else: the heads of a layer side by side; a token that the
/// pointer is on shows what it looks at, or what looks at it.
std::unique_ptr<HeatDrawing> draw_html(std::optional<float> largest);

}  // namespace bert
