#pragma once

#include <memory>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "model/config.h"
#include "ops/attention_kernel.h"

namespace bert {

/// What attention adds to the score of two tokens by their distance, one number for each head: the
/// same in all layers (Raffel et al. 2020, T5, section 2.1; Song et al. 2020, MPNet).
///
/// nullptr if the model has no such bias. Throws Error(data) naming the tensor.
std::unique_ptr<const AttentionBias> load_position_bias(const Config& config,
                                                        const Weights& weights);

/// The row of T5's table of 32 buckets for a key that stands `distance` tokens behind the query:
/// rows 0 .. 15 for keys before it, 16 .. 31 for keys behind it. Distances below 8 have a bucket
/// each, larger ones share them by logarithm, from 128 on the last one.
BERT_API size_t position_bucket(ptrdiff_t distance);

}  // namespace bert
