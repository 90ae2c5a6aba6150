#include "training/pooling_gradient.h"

#include <algorithm>
#include <cmath>

#include "ops/gradient_kernels.h"

namespace bert::training {
namespace {

/// The token of the largest number i; the first of several.
size_t largest_token(ConstMatrix tokens, size_t first, size_t i) {
  size_t best = first;
  for (size_t t = first + 1; t < tokens.rows; ++t) {
    if (tokens.row(t)[i] > tokens.row(best)[i]) best = t;
  }
  return best;
}

}  // namespace

void pool_backward(Pooling pooling, ConstMatrix tokens, const float* d, size_t begin,
                   Matrix d_tokens) {
  const size_t n = tokens.rows, first = std::min(begin, n - 1);
  const auto add = [&](size_t t, float factor) {
    gradient_kernels().axpy(factor, d, tokens.cols, d_tokens.row(t));
  };
  if (pooling == Pooling::cls) return add(begin < n ? begin : 0, 1.f);
  if (pooling == Pooling::lasttoken) return add(n - 1, 1.f);
  if (pooling == Pooling::max) {
    for (size_t i = 0; i < tokens.cols; ++i) {
      d_tokens.row(largest_token(tokens, first, i))[i] += d[i];
    }
    return;
  }
  const auto weight = [&](size_t t) {
    return pooling == Pooling::weightedmean ? static_cast<float>(t + 1) : 1.f;
  };
  float total = 0;
  for (size_t t = first; t < n; ++t) total += weight(t);
  if (pooling == Pooling::sum) total = 1;
  if (pooling == Pooling::mean_sqrt_len_tokens) total = std::sqrt(total);
  for (size_t t = first; t < n; ++t) add(t, weight(t) / total);
}

}  // namespace bert::training
