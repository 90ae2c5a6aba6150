#include "ops/scaled_dot_product.h"

#include <algorithm>

#include "ops/kernels.h"

namespace bert {

void scaled_dot_product(ConstMatrix q, ConstMatrix k, ConstMatrix v, float scale, ConstMatrix mask,
                        Matrix weights, Matrix out) {
  for (size_t i = 0; i < q.rows; ++i) {
    float* row = weights.row(i);
    for (size_t j = 0; j < k.rows; ++j) {
      row[j] = dot(q.row(i), k.row(j), q.cols) * scale;
      if (mask.data) row[j] += mask.row(i)[j];
    }
    softmax({row, k.rows});
    float* sum = out.row(i);
    std::fill_n(sum, v.cols, 0.0f);
    for (size_t j = 0; j < k.rows; ++j) {
      for (size_t c = 0; c < v.cols; ++c) sum[c] += row[j] * v.row(j)[c];
    }
  }
}

}  // namespace bert
