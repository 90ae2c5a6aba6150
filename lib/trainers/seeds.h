#pragma once

#include <cstdint>
#include <vector>

#include "trainers/finetune.h"

namespace bert {

/// Trains once with each seed (none: options.seeds from options.learner.seed on), in OUTPUT/seed-N,
/// tells mean and standard deviation of the best dev scores, and moves the best model to OUTPUT.
/// Returns false when it was asked to stop. Throws Error.
bool finetune_seeds(const FinetuneOptions& options, const std::vector<uint64_t>& seeds,
                    bool (*train)(const FinetuneOptions&));

}  // namespace bert
