#pragma once

#include "heads/pooling.h"
#include "ops/matrix.h"

namespace bert::training {

/// The way back of pool(): adds to d_tokens [n, H] from d [H], the gradient of what `tokens` [n, H]
/// are pooled to from token `begin` on.
void pool_backward(Pooling pooling, ConstMatrix tokens, const float* d, size_t begin,
                   Matrix d_tokens);

}  // namespace bert::training
