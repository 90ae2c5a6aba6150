#include "nn/positions.h"

#include <cmath>

namespace bert::nn {

Sinusoids::Sinusoids(size_t size, SinusoidOrder order) : size_(size), order_(order) {
  for (size_t i = 0; i < size; i += 2) {
    scales_.push_back(std::pow(10000., static_cast<double>(i) / static_cast<double>(size)));
  }
}

/// Calls use(place in the row, number).
template <typename Use>
void Sinusoids::for_each(size_t position, Use use) const {
  const size_t sines = scales_.size();  // one more than cosines, if D is odd
  for (size_t pair = 0; pair < sines; ++pair) {
    const double angle = static_cast<double>(position) / scales_[pair];
    const bool halves = order_ == SinusoidOrder::halves;
    const size_t sine = halves ? pair : 2 * pair, cosine = halves ? sines + pair : 2 * pair + 1;
    use(sine, static_cast<float>(std::sin(angle)));
    if (cosine < size_) use(cosine, static_cast<float>(std::cos(angle)));
  }
}

void Sinusoids::row(size_t position, std::span<float> out) const {
  for_each(position, [&](size_t i, float value) { out[i] = value; });
}

void Sinusoids::add(size_t first, Matrix x) const {
  for (size_t t = 0; t < x.rows; ++t) {
    for_each(first + t, [row = x.row(t)](size_t i, float value) { row[i] += value; });
  }
}

}  // namespace bert::nn
