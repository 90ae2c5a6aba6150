#pragma once

#include <memory>
#include <string>
#include <vector>

#include "training/head.h"
#include "training/learner.h"
#include "training/network.h"
#include "training/parameters.h"

namespace bert::training {

/// BERT as a Network: one or several heads over one trunk.
class BertNetwork : public Network {
 public:
  /// The configs of all heads describe the same trunk. `bf16`: computes products in bfloat16.
  BertNetwork(std::vector<HeadPlan> heads, bool bf16);

  const Config& config() const { return heads_[0].config; }  ///< the first head's
  const std::vector<HeadPlan>& heads() const { return heads_; }

  Layout layout() const override;
  std::unique_ptr<Lane> lane(const Layout& layout, float* values, float* gradient) const override;
  void check(const TrainingBatch& batch) const override;
  Tally count(const TrainingBatch& batch) const override;
  double weight(const TrainingBatch& batch) const override { return heads_[batch.head].weight; }
  double cost(const TrainingBatch& batch, size_t s) const override;
  size_t pass_floats(size_t tokens, size_t longest) const override;
  size_t evaluation_floats(size_t threads, size_t longest) const override;
  bool sparse_table(const Layout& layout) const override;
  std::vector<FileTensor> file_tensors(const Layout& layout) const override;
  std::vector<FileTensor> checkpoint_tensors(const Layout& layout) const override;
  bool takes_turns(const Layout& layout) const override;
  /// With LoRA, turns the gradient of each matrix into those of its A and B.
  void finish_gradient(const float* values, float* gradient, Team& team) const override;
  void settle(float* values, const float* kept, Team& team) const override {
    low_rank_.merge(values, kept, team);
  }

  bool bf16() const { return bf16_; }
  /// What LoRA changes; empty without a plan for it.
  const LowRank& low_rank() const { return low_rank_; }

 private:
  std::vector<HeadPlan> heads_;
  LowRank low_rank_;
  bool bf16_;
};

/// A learner of BERT.
class BertLearner : public Learner {
 public:
  BertLearner(std::vector<HeadPlan> heads, const LearnerOptions& options)
      : Learner(std::make_unique<BertNetwork>(std::move(heads), options.bf16), options) {}

  const BertNetwork& bert() const { return static_cast<const BertNetwork&>(network()); }
  const Config& config() const { return bert().config(); }
  const std::vector<HeadPlan>& heads() const { return bert().heads(); }
};

}  // namespace bert::training
