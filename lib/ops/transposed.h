#pragma once

#include <cstddef>
#include <vector>

namespace bert {

/// A matrix [rows, n] as [n, rows].
inline std::vector<float> transposed(const std::vector<float>& matrix, size_t rows) {
  const size_t n = matrix.size() / rows;
  std::vector<float> turned(matrix.size());
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < n; ++j) turned[j * rows + i] = matrix[i * n + j];
  }
  return turned;
}

}  // namespace bert
