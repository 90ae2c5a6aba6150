#pragma once

#include <memory>

#include "nn/rank_loss.h"
#include "training/bert_network.h"

namespace bert::training {

/// A classifier with one output, the score of a pair, where the scores of a query's texts may learn
/// from each other. A step computes all scores, then their loss, and then, pass by pass, the way
/// back: see VectorNetwork.
///
/// In a batch, the pairs of a query stand one behind the other; `values` are their labels and
/// `sequence_labels` the number of each pair's query.
class RankNetwork : public BertNetwork {
 public:
  RankNetwork(HeadPlan head, nn::RankLoss loss, bool bf16);

  nn::RankLoss loss() const { return loss_; }
  std::unique_ptr<Lane> lane(const Layout& layout, float* values, float* gradient) const override;
  /// Sequences are queries where the loss compares their texts, else pairs.
  Tally count(const TrainingBatch& batch) const override;
  size_t vector_size() const override { return 1; }
  /// Those are right whose best text has the highest label, or whose score is on the label's side.
  Tally judge(const TrainingBatch& batch, ConstMatrix scores, Matrix gradient) const override;

 private:
  nn::RankLoss loss_;
};

}  // namespace bert::training
