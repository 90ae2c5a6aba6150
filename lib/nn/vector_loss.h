#pragma once

#include <cstddef>
#include <span>

#include "ops/matrix.h"

namespace bert::nn {

/// What vectors of texts learn from, as sentence-transformers' losses.
enum class VectorLoss {
  ranking,  ///< MultipleNegativesRankingLoss: each first text finds its second one among all others
  cosent,   ///< CoSENTLoss: pairs of a higher target are more alike
  cosine,   ///< CosineSimilarityLoss: the cosine of a pair is its target
  triplet,  ///< TripletLoss: the first is nearer to the second than to the third, by a margin
  teacher,  ///< MSELoss: the vector is a teacher's
};

struct VectorLossPlan {
  VectorLoss loss = VectorLoss::ranking;
  size_t columns = 2;           ///< C texts of a record
  float scale = 20;             ///< factor of cosines, in `ranking` and `cosent`
  bool symmetric = false;       ///< ranking: second texts find their first ones, too
  float margin = 5;             ///< triplet
  bool mean_of_tokens = false;  ///< maxsim: a score is divided by the number of its query's tokens
};

/// The memory of vector_loss(), one per thread.
struct VectorLossBuffers {
  Buffer unit, lengths, d_unit, scores, columns;
};

/// The mean loss of R records, whose texts' vectors are x [R C, D], a record's one after the other.
/// Adds `weight` times its gradient to dx [R C, D], if that has data.
///   targets  [R] of cosent and cosine; [R, at least D] of a teacher, `target_width` apart
///   right    where `ranking` finds its record first, the number of these records is added
double vector_loss(const VectorLossPlan& plan, ConstMatrix x, std::span<const float> targets,
                   size_t target_width, float weight, Matrix dx, size_t& right,
                   VectorLossBuffers& buffers);

/// The mean loss of scores [R, R (C - 1)] of first texts with all others, column by column, of
/// which the first text of each record is to find its second. With `learns`, the scores become
/// their gradient times `weight`.
double ranking_entropy(const VectorLossPlan& plan, Matrix scores, float weight, bool learns,
                       size_t& right, Buffer& scratch);

/// y = x / max(|x|, 1e-12), row by row, as torch's normalize; lengths [T, 1] keeps the divisors.
void unit_forward(ConstMatrix x, Matrix y, Matrix lengths);
/// Adds to dx from dy, where y is unit_forward's result.
void unit_backward(ConstMatrix y, ConstMatrix lengths, ConstMatrix dy, Matrix dx);

}  // namespace bert::nn
