#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "heads/pooling.h"
#include "nn/vector_loss.h"
#include "training/bert_network.h"
#include "training/module_layers.h"

namespace bert::training {

/// What vectors of texts are made of, and learn.
struct VectorTask {
  nn::VectorLossPlan loss;
  std::vector<size_t> dims;  ///< the loss is that of the first numbers, for each of these, added up
                             ///< (Kusupati et al. 2022); empty: of the whole vectors
  std::vector<Pooling> poolings = {Pooling::mean};  ///< side by side
  std::vector<ModulePlan> token_layers = {};        ///< over each token's state, before the pooling
  std::vector<ModulePlan> dense = {};               ///< over what is pooled
  bool normalize = false;                           ///< vectors have length 1
  /// Above 0, nothing is pooled: a text has the vectors of its tokens, at most so many, and learns
  /// by nn::maxsim_loss().
  size_t longest = 0;

  /// The numbers of a vector, if a hidden state has `hidden_size`.
  size_t width(size_t hidden_size) const;
};

/// A model whose pooled hidden states learn from each other: a step computes the vectors of all
/// texts, then their loss and its gradient in each vector, and then, pass by pass, the way back
/// through the model (Gao et al. 2021, gradient caching). So memory does not grow with the batch.
///
/// A batch has the texts of a record one after the other. Its `values` are the targets of
/// nn::vector_loss(), its `starts` the first token of each text that is pooled, or empty. Of
/// vectors of tokens, `token_labels` says which of them have a part in a score.
class VectorNetwork : public BertNetwork {
 public:
  /// `trunk` may have a head of its own, which no step reads.
  VectorNetwork(HeadPlan trunk, VectorTask task, bool bf16);

  const VectorTask& task() const { return task_; }
  Layout layout() const override;
  std::unique_ptr<Lane> lane(const Layout& layout, float* values, float* gradient) const override;
  Tally count(const TrainingBatch& batch) const override;
  size_t vector_size() const override { return width() * std::max<size_t>(task_.longest, 1); }
  Tally judge(const TrainingBatch& batch, ConstMatrix vectors, Matrix gradient) const override;
  std::vector<FileTensor> file_tensors(const Layout& layout) const override;
  std::vector<FileTensor> checkpoint_tensors(const Layout& layout) const override;
  std::vector<OtherFile> other_files(const Layout& layout) const override;

  size_t width() const { return task_.width(config().hidden_size); }
  /// The vectors of the tokens that have a part in a score: rows [ends[s], ends[s + 1]) of text s.
  struct Tokens {
    std::vector<size_t> ends{0}, rows;  ///< rows: the number of each token in its batch
    Buffer buffer;
    Matrix x;
  };
  void gather(const TrainingBatch& batch, ConstMatrix vectors, Tokens& tokens) const;

 private:
  Tally judge_texts(const TrainingBatch& batch, ConstMatrix vectors, Matrix gradient) const;
  Tally judge_tokens(const TrainingBatch& batch, ConstMatrix vectors, Matrix gradient) const;

  VectorTask task_;
};

}  // namespace bert::training
