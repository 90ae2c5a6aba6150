#pragma once

#include <vector>

#include "checkpoint/weights.h"
#include "model/config.h"

namespace bert {

/// What attention adds to the score of two tokens by their distance, one number for each head: the
/// same in all layers (Raffel et al. 2020, T5, section 2.1; Song et al. 2020, MPNet).
///
/// Row h of the result [A, 2P - 1] is for head h, and its column P - 1 + d for a key that stands d
/// tokens behind the query. P = config.max_tokens(). Empty if the model has no such bias. Throws
/// Error(data) naming the tensor.
std::vector<float> load_position_bias(const Config& config, const Weights& weights);

/// The row of T5's table of 32 buckets for a key that stands `distance` tokens behind the query:
/// rows 0 .. 15 for keys before it, 16 .. 31 for keys behind it. Distances below 8 have a bucket
/// each, larger ones share them by logarithm, from 128 on the last one.
size_t position_bucket(ptrdiff_t distance);

}  // namespace bert
