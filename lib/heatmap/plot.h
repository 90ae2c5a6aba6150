#pragma once

#include <memory>
#include <string>

#include "io/record.h"

namespace bert {

/// What a plot is written as: characters for a terminal, or a drawing, alone or in a page.
enum class PlotForm { text, svg, html };

/// A plot of numbers that come line by line.
class Plot {
 public:
  virtual ~Plot() = default;
  /// Throws Error(data) naming the line.
  virtual void add(const Record& line) = 0;
  /// The whole plot. Throws Error(data) if no line had something for it.
  virtual std::string draw() const = 0;
};

/// A reliability diagram, of the rows `bin LOW HIGH RECORDS CONFIDENCE ACCURACY` of a report; its
/// other lines have no say, but for `ece E`.
std::unique_ptr<Plot> plot_bins(PlotForm form, size_t width);
/// Points of the plane, of rows X, Y and, if it is there, their text.
std::unique_ptr<Plot> plot_points(PlotForm form, size_t width);

/// An SVG drawing as `form` wants it; `body`: its elements.
std::string framed_svg(PlotForm form, const std::string& title, double width, double height,
                       const std::string& body);

}  // namespace bert
