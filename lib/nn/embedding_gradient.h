#pragma once

#include <cstdint>
#include <span>

#include "ops/matrix.h"

namespace bert::nn {

/// output[t] += table[ids[t]].   table [V, E]   ids [T], each in [0, V)   output [T, E]
void embedding_forward(ConstMatrix table, std::span<const int32_t> ids, Matrix output);

/// d_table[ids[t]] += d_output[t], t in order. `padding_id` gets no gradient, like torch's
/// padding_idx; -1 means no such id.
void embedding_backward(std::span<const int32_t> ids, ConstMatrix d_output, Matrix d_table,
                        int32_t padding_id = -1);

}  // namespace bert::nn
