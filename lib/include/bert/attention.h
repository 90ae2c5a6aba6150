#pragma once

#include <bert/bert.h>
#include <bert/error.h>
#include <bert/matrix.h>

#include <vector>

namespace bert {
inline namespace v0 {

struct AttentionOptions {
  size_t heads = 1;             ///< A
  float scale = 0;              ///< 0: 1 / sqrt(D / A)
  const float* mask = nullptr;  ///< [n, m], added to the scaled scores; -INFINITY: not attended to
};

struct Attention {
  std::vector<float> out;      ///< [n, Dv]: the heads' outputs side by side
  std::vector<float> weights;  ///< [A, n, m]
};

/// Multi-head scaled dot-product attention over matrices of one's own, softmax(Q K^T scale + mask)
/// V (Vaswani et al. 2017, 3.2): queries [n, D], keys [m, D], values [m, Dv]. Throws
/// Error(BERT_USAGE) if the shapes do not fit.
inline Attention attention(const Matrix& queries, const Matrix& keys, const Matrix& values,
                           const AttentionOptions& options = {}) {
  bert_attention_options c = {};
  c.size = sizeof c;
  c.heads = options.heads;
  c.scale = options.scale;
  c.mask = options.mask;
  Attention result;
  result.out.resize(queries.rows() * values.cols());
  result.weights.resize(options.heads * queries.rows() * keys.rows());
  check(bert_attention(queries.c(), keys.c(), values.c(), &c, result.out.data(),
                       result.weights.data()));
  return result;
}

}  // namespace v0
}  // namespace bert
