#include "heatmap/shade.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace bert {
namespace {

/// "Blues" of ColorBrewer: each step looks as far from the last as any other.
constexpr std::array<Shade, 9> kBlues = {{{247, 251, 255},
                                          {222, 235, 247},
                                          {198, 219, 239},
                                          {158, 202, 225},
                                          {107, 174, 214},
                                          {66, 146, 198},
                                          {33, 113, 181},
                                          {8, 81, 156},
                                          {8, 48, 107}}};

/// The same from its end, which a dark ground shows least.
constexpr std::array<Shade, 9> kLights = {{{10, 24, 48},
                                           {8, 48, 107},
                                           {8, 81, 156},
                                           {33, 113, 181},
                                           {66, 146, 198},
                                           {107, 174, 214},
                                           {158, 202, 225},
                                           {198, 219, 239},
                                           {247, 251, 255}}};

Shade between(const std::array<Shade, 9>& steps, double share) {
  const double place = share * static_cast<double>(steps.size() - 1);
  const auto i = std::min(static_cast<size_t>(place), steps.size() - 2);
  const double part = place - static_cast<double>(i);
  const auto mean = [part](uint8_t a, uint8_t b) {
    return static_cast<uint8_t>(std::lround(a + part * (b - a)));
  };
  const Shade &a = steps[i], &b = steps[i + 1];
  return {mean(a.red, b.red), mean(a.green, b.green), mean(a.blue, b.blue)};
}

}  // namespace

bool Shade::is_dark() const { return 299 * red + 587 * green + 114 * blue < 140 * 1000; }

std::string Shade::hex() const { return fmt::format("#{:02x}{:02x}{:02x}", red, green, blue); }

Shade shade_of(double share) { return between(kBlues, share); }

Shade light_of(double share) { return between(kLights, share); }

}  // namespace bert
