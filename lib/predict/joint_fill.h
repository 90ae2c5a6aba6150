#pragma once

#include <vector>

#include "predict/masks.h"

namespace bert {

/// Masks of one sequence that are to be filled together.
struct JointProblem {
  std::vector<int32_t> input_ids;
  std::vector<size_t> positions;  ///< positions of the masks, ascending
};

/// A piece for every mask, in the order of the masks.
struct JointSolution {
  std::vector<int32_t> pieces;
  double logprob = 0;  ///< sum of ln P(piece | text, the pieces filled before it), in fill order
};

/// Which mask is filled next: the one whose best piece is most probable, or the leftmost.
enum class FillOrder { confidence, left };

/// Beam search over the masks of each problem: at every step each of the `beam` best partial
/// solutions fills one more mask with each of its `beam` best pieces, and the `beam` best results
/// go on. `beam` 1 is greedy filling. Only `fillable` pieces are used. All problems advance
/// together, so that their sequences share batches; they do not influence each other.
///
/// Best first; fewer than `beam` solutions if the vocabulary is smaller.
BERT_API std::vector<std::vector<JointSolution>> fill_jointly(
    MaskQueries& queries, const std::vector<JointProblem>& problems, size_t beam, FillOrder order,
    const Fillable& fillable);

}  // namespace bert
