#pragma once

#include <memory>
#include <vector>

#include "heads/pooling.h"
#include "nn/vector_loss.h"
#include "training/bert_network.h"

namespace bert::training {

/// What vectors of texts are made of, and learn.
struct VectorTask {
  nn::VectorLossPlan loss;
  std::vector<size_t> dims;  ///< the loss is that of the first numbers, for each of these, added up
                             ///< (Kusupati et al. 2022); empty: of the whole vectors
  std::vector<Pooling> poolings = {Pooling::mean};  ///< side by side
  bool normalize = false;                           ///< vectors have length 1
};

/// A model whose pooled hidden states learn from each other: a step computes the vectors of all
/// texts, then their loss and its gradient in each vector, and then, pass by pass, the way back
/// through the model (Gao et al. 2021, gradient caching). So memory does not grow with the batch.
///
/// A batch has the texts of a record one after the other. Its `values` are the targets of
/// nn::vector_loss(), its `starts` the first token of each text that is pooled, or empty.
class VectorNetwork : public BertNetwork {
 public:
  VectorNetwork(HeadPlan trunk, VectorTask task, bool bf16);

  const VectorTask& task() const { return task_; }
  std::unique_ptr<Lane> lane(const Layout& layout, float* values, float* gradient) const override;
  Tally count(const TrainingBatch& batch) const override;
  size_t vector_size() const override { return config().hidden_size * task_.poolings.size(); }
  Tally judge(const TrainingBatch& batch, ConstMatrix vectors, Matrix gradient) const override;

 private:
  VectorTask task_;
};

}  // namespace bert::training
