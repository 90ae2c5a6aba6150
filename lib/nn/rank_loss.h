#pragma once

#include <cstddef>
#include <span>

namespace bert::nn {

/// What the scores of a query's texts learn from, as the losses of sentence-transformers'
/// CrossEncoders. The last four compare the texts of one query.
enum class RankLoss {
  binary,   ///< BinaryCrossEntropyLoss: the sigmoid of a score is its label, 0 to 1
  squared,  ///< MSELoss: a score is its label
  listnet,  ///< ListNetLoss: the softmax of the scores is that of the labels
  lambda,   ///< LambdaLoss with the weights NDCG-Loss2++: pairs in the wrong order cost what their
            ///< places are worth in nDCG
  margin,   ///< MarginMSELoss: how far the first text is above each other one is as in the labels
  ranking,  ///< MultipleNegativesRankingLoss over the query's own texts: the first is found
};

/// Whether the loss compares the texts of one query.
constexpr bool compares_texts(RankLoss loss) {
  return loss != RankLoss::binary && loss != RankLoss::squared;
}

/// Texts of some queries.
struct RankLists {
  std::span<const float> scores;  ///< [S], a query's one after the other
  std::span<const float> labels;  ///< [S]
  std::span<const size_t> ends;   ///< for each query, the number of texts up to its last one
  float scale = 10;               ///< ranking: the factor of the scores' sigmoids
};

/// The mean loss. Adds its gradient to d_scores [S], unless that is empty.
double rank_loss(RankLoss loss, const RankLists& lists, std::span<float> d_scores);

}  // namespace bert::nn
