#pragma once

#include <cstddef>
#include <vector>

#include "training/network.h"

namespace bert::training {

/// Cuts a batch into at most `parts` parts of similar work. Part i has sequences [bounds[i],
/// bounds[i + 1]), at least one.
std::vector<size_t> shares(const TrainingBatch& batch, const Network& network, size_t parts);

}  // namespace bert::training
