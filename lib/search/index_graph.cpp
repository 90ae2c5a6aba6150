#include "search/index_graph.h"

#include <algorithm>
#include <cmath>

#include "search/vector_search.h"

namespace bert {

double length_of(std::span<const float> x) { return std::sqrt(dot_in_doubles(x, x)); }

void to_unit(std::span<const float> x, float* unit) {
  const double length = length_of(x);
  for (size_t i = 0; i < x.size(); ++i) {
    unit[i] = length > 0 ? static_cast<float>(x[i] / length) : 0;
  }
}

void RowSpace::take(const MatrixFile& vectors, const VectorBundles& bundles,
                    std::vector<float> lengths) {
  // The products of floats would overflow or vanish.
  const bool extreme = !std::all_of(lengths.begin(), lengths.end(), [](float inv) {
    return inv == 0 || (inv > 1e-9f && inv < 1e9f);
  });
  const float* const floats = extreme ? nullptr : vectors.floats();
  inverse = std::move(lengths);
  width = vectors.cols();
  rows.resize(bundles.size());
  const Matrix own = floats ? Matrix() : converted.matrix(rows.size(), width);
  Buffer scratch;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t first = bundles.first_of(i);
    rows[i] = floats ? floats + first * width : own.row(i);
    if (floats) continue;
    const float* row = vectors.read(first, 1, scratch).data;
    if (extreme) {
      to_unit({row, width}, own.row(i));
      inverse[i] = inverse[i] == 0 ? 0 : 1;
    } else {
      std::copy_n(row, width, own.row(i));
    }
  }
}

std::vector<float> inverse_lengths(const VectorSource& vectors, const VectorBundles& bundles) {
  std::vector<float> inverse(bundles.size());
  Buffer scratch;
  for (size_t i = 0; i < inverse.size(); ++i) {
    const ConstMatrix row = vectors.read(bundles.first_of(i), 1, scratch);
    const double length = length_of({row.data, row.cols});
    inverse[i] = length > 0 ? static_cast<float>(1 / length) : 0;
  }
  return inverse;
}

}  // namespace bert
