#pragma once

#include "ops/matrix.h"

namespace bert {

/// softmax(Q K^T scale + mask) V of one head (Vaswani et al. 2017, eq. 1), for queries and keys of
/// different numbers. For one's own matrices; the encoder's kernel is attention_kernel.h.
///
///   q [n, D]   k [m, D]   v [m, Dv]   mask [n, m], added to the scaled scores, or empty
///   weights [n, m]: the softmax, written   out [n, Dv]
///
/// A row whose scores are all -inf has weights and output 0.
void scaled_dot_product(ConstMatrix q, ConstMatrix k, ConstMatrix v, float scale, ConstMatrix mask,
                        Matrix weights, Matrix out);

}  // namespace bert
