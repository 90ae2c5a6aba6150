#pragma once

#include <memory>
#include <optional>
#include <string>

#include "heatmap/attention_rows.h"

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

/// Draws records one after the other. The strongest shade is `largest`, or else the largest weight
/// of what is drawn together: of each head.
class HeatDrawing {
 public:
  virtual ~HeatDrawing() = default;
  /// Appends what can be written of the drawing by now.
  virtual void add(const HeatRecord& record, std::string& out) = 0;
  /// The end of it.
  virtual void finish(std::string& out) = 0;

  /// Shaded text. A matrix, with the weights where there is room for them, or the record's tokens,
  /// each as dark as the weight it gets on average from those that attend; `fitting`: the second
  /// where one token attends or a matrix is too wide.
  static std::unique_ptr<HeatDrawing> of_terminal(const TerminalStyle& style,
                                                  std::optional<float> largest);
  /// One SVG document: a matrix for each head, those of a layer side by side.
  static std::unique_ptr<HeatDrawing> of_svg(std::optional<float> largest);
  /// One HTML page that needs nothing else: the heads of a layer side by side; a token that the
  /// pointer is on shows what it looks at, or what looks at it.
  static std::unique_ptr<HeatDrawing> of_html(std::optional<float> largest);
};

}  // namespace bert
