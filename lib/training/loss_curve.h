#pragma once

#include <string>
#include <string_view>

namespace bert::training {

/// An SVG picture of a loss.tsv: the smoothed loss as a line, dev losses as a line with points.
std::string loss_svg(std::string_view curve);

}  // namespace bert::training
