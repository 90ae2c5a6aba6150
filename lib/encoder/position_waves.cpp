#include "encoder/position_waves.h"

#include <cmath>

namespace bert {

std::vector<float> position_waves(size_t positions, size_t width) {
  std::vector<float> table(positions * width);
  const size_t sines = (width + 1) / 2;
  for (size_t i = 0; i < sines; ++i) {
    const double period =
        std::pow(10000.0, 2 * static_cast<double>(i) / static_cast<double>(width));
    for (size_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) / period;
      table[p * width + i] = static_cast<float>(std::sin(angle));
      if (sines + i < width) table[p * width + sines + i] = static_cast<float>(std::cos(angle));
    }
  }
  return table;
}

std::vector<float> steep_waves(size_t positions, size_t width) {
  std::vector<float> table(positions * width);
  const size_t half = width / 2;
  const auto step = static_cast<float>(-std::log(10000.0) / (static_cast<double>(half) - 1));
  for (size_t i = 0; i < half; ++i) {
    const float frequency = std::exp(static_cast<float>(i) * step);
    for (size_t p = 0; p < positions; ++p) {
      const float angle = static_cast<float>(p) * frequency;
      table[p * width + i] = std::sin(angle);
      table[p * width + half + i] = std::cos(angle);
    }
  }
  return table;
}

}  // namespace bert
