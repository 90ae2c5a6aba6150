#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "ops/matrix.h"

namespace bert::test {

struct Vectors {
  size_t rows, width;
  std::vector<float> data;
  ConstMatrix matrix() const { return {data.data(), rows, width}; }
  std::span<const float> row(size_t i) const { return {data.data() + i * width, width}; }
};

/// Random vectors; some are copies, nearly copies, 0, huge or tiny.
inline Vectors random_vectors(size_t rows, size_t width, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Vectors v{rows, width, std::vector<float>(rows * width)};
  for (size_t i = 0; i < rows; ++i) {
    float* row = v.data.data() + i * width;
    const size_t other = i > 0 ? random() % i : 0;
    const float* copied = v.data.data() + other * width;
    const auto kind = static_cast<unsigned>(random() % 12);
    const float scale = kind == 0 ? 1e30f : kind == 1 ? 1e-33f : 1.f;
    for (size_t d = 0; d < width; ++d) {
      row[d] = kind == 2   ? 0.f
               : kind == 3 ? copied[d]
               : kind == 4 ? copied[d] * 1.5f
               : kind == 5 ? std::nextafter(copied[d], 9e9f)
                           : scale * normal(random);
    }
  }
  return v;
}

}  // namespace bert::test
