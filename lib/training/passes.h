#pragma once

#include <cstddef>
#include <vector>

#include "training/network.h"

namespace bert::training {

/// Cuts a batch into passes of similar work, none of more than `max_tokens` unless it is a single
/// sequence. Pass i has sequences [bounds[i], bounds[i + 1]), at least one. The cut depends on the
/// batch alone, so that any number of threads computes the same: there are two passes from 128
/// tokens, and twice as many for each four times the tokens, since long passes are the faster ones.
std::vector<size_t> cut_passes(const TrainingBatch& batch, const Network& network,
                               size_t max_tokens);

/// Sequences [first, last) as a pass, which go to `part`; the rest is as in `pass`.
Pass cut_pass(const TrainingBatch& batch, size_t first, size_t last, Pass pass,
              TrainingBatch& part);

/// The number of passes of a batch that no limit cuts.
size_t pass_count(size_t tokens);

/// Goes on from the last bound to `end`, in passes as long as the limit allows.
void cut_by_limit(const TrainingBatch& batch, size_t end, size_t max_tokens,
                  std::vector<size_t>& bounds);

}  // namespace bert::training
