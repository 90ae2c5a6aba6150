#pragma once

#include <string>

#include "heatmap/attention_rows.h"

namespace bert {

/// Draws records one after the other: shaded text (terminal.h), SVG (svg.h) or HTML (html.h). The
/// strongest shade is `largest`, or else the largest weight of what is drawn together: of each
/// head.
class HeatDrawing {
 public:
  virtual ~HeatDrawing() = default;
  /// Appends what can be written of the drawing by now.
  virtual void add(const HeatRecord& record, std::string& out) = 0;
  /// The end of it.
  virtual void finish(std::string& out) = 0;
};

}  // namespace bert
