#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention_pool/pool_parameters.h"
#include "ops/matrix.h"

namespace bert {

/// What is learned, and where it starts.
struct LearnOptions {
  PoolForm form;
  std::vector<std::string> fit;  ///< names of the parameters; empty: those of the score, and W_v
                                 ///< and W_o for several heads or if the targets have another width
  size_t hidden = 0;             ///< A; 0: as many as the keys have
  uint64_t seed = 1;             ///< seed of the numbers in the matrices at the start
  size_t max_steps = 1000;
  PoolParameters start;  ///< instead of random numbers; those not in `fit` stay as they are
};

struct LearnResult {
  PoolParameters parameters;
  size_t count = 0;              ///< numbers that were learned
  double before = 0, after = 0;  ///< mean squared error at the start and at the end
  size_t steps = 0;
};

/// The matrices of one problem: targets [n, O] for queries [n, Dq].
struct LearnData {
  ConstMatrix queries, keys, values, targets;
};

/// Fits parameters so that the mean squared error of output and targets is least, with L-BFGS
/// (Nocedal 1980) over all queries at once. The result depends on the data and the options only: it
/// is computed in one thread.
///
/// A matrix starts near the identity, so that learning begins close to attention without
/// parameters; width begins at 1. Throws as PoolSizes::of, and Error(data) if the number of
/// targets does not fit or the error at the start is not finite, Error(usage) for a name that the
/// score does not have.
LearnResult learn_attention(const LearnData& data, const LearnOptions& options,
                            const PoolNames& names, const std::string& targets_name);

}  // namespace bert
