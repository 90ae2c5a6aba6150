#include "training/moving_average.h"

#include <algorithm>

namespace bert::training {

void MovingAverage::in_chunks(const std::function<void(size_t, size_t)>& use) {
  constexpr size_t kChunk = size_t{1} << 16;
  team_.run([&](int part, int parts) {
    for (size_t i = static_cast<size_t>(part) * kChunk; i < floats_;
         i += static_cast<size_t>(parts) * kChunk) {
      use(i, std::min(floats_, i + kChunk));
    }
  });
}

void MovingAverage::begin(const float* parameters) {
  if (decay_ == 0) return;
  float* const to = values();
  in_chunks([&](size_t begin, size_t end) {
    std::copy(parameters + begin, parameters + end, to + begin);
  });
}

void MovingAverage::move(const float* parameters, uint64_t step) {
  if (decay_ == 0) return;
  const auto t = static_cast<double>(step);
  const auto moves = static_cast<float>(1 - std::min(decay_, t / (t + 9)));
  float* const to = values();
  in_chunks([&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) to[i] += moves * (parameters[i] - to[i]);
  });
}

void MovingAverage::exchange(float* parameters) {
  if (decay_ == 0) return;
  float* const own = values();
  in_chunks([&](size_t begin, size_t end) {
    std::swap_ranges(parameters + begin, parameters + end, own + begin);
  });
}

}  // namespace bert::training
