#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/vector_loss.h"

namespace bert::nn {

/// The memory of maxsim_loss(), one per thread.
struct MaxSimBuffers {
  Buffer products, scores, columns;
  std::vector<uint32_t> best;  ///< the row of x that each query token is nearest to, in each text
};

/// The late interaction of ColBERT (Khattab and Zaharia 2020) of two texts whose tokens' vectors
/// are rows of q [N, D] and d [M, D]: the sum, over the rows of q, of the largest product with a
/// row of d. Without a row in d: 0.
double maxsim(ConstMatrix q, ConstMatrix d, Buffer& products);

/// The ranking loss of records of C texts, as VectorLoss::ranking, whose scores are not cosines but
/// maxsim(): PyLate's Contrastive. The vectors of text s are rows [ends[s], ends[s + 1]) of x
/// [K, D], ends [R C + 1]. Adds `weight` times the gradient to dx, if that has data.
double maxsim_loss(const VectorLossPlan& plan, ConstMatrix x, std::span<const size_t> ends,
                   float weight, Matrix dx, size_t& right, MaxSimBuffers& buffers);

}  // namespace bert::nn
