#pragma once

#include <cstdint>
#include <string>

namespace bert {

struct Shade {
  uint8_t red, green, blue;
  bool is_dark() const;     ///< text on it wants to be white
  std::string hex() const;  ///< #rrggbb
};

/// From nearly white (0) to dark blue (1).
Shade shade_of(double share);
/// For a dark ground: from nearly black (0) to nearly white (1).
Shade light_of(double share);

/// The largest weight as the share 1.
inline double share_of(float weight, float largest) {
  if (!(largest > 0)) return 0;
  const double share = static_cast<double>(weight) / static_cast<double>(largest);
  return share < 1 ? share : 1;
}

}  // namespace bert
