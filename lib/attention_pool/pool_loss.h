#pragma once

#include <vector>

#include "attention_pool/learn.h"

namespace bert {

/// The mean squared error of attention and targets, and its gradient by all parameters.
///
/// Thread rule: one per thread.
class PoolLoss {
 public:
  /// The matrices of `data` must outlive it.
  PoolLoss(const PoolForm& form, const LearnData& data);

  /// Adds the gradient to the tensors of `gradient`, which has those of `parameters`.
  double operator()(PoolParameters& parameters, PoolParameters& gradient);

 private:
  struct Pass;
  ConstMatrix forward_head(const Pass& pass, size_t head, size_t first, ConstMatrix queries);
  void backward_head(const Pass& pass, size_t head, size_t first, ConstMatrix queries,
                     ConstMatrix d_mixed, Matrix d_queries);
  ConstMatrix distances(const Pass& pass, size_t head, size_t first, ConstMatrix q, ConstMatrix k,
                        bool known);
  double block(const Pass& pass, size_t first, size_t count);
  void mask(size_t first, Matrix scores) const;

  PoolForm form_;
  LearnData data_;
  Buffer placed_queries_, placed_keys_;  ///< with positions
  Buffer keys_, values_, d_keys_, d_values_;
  Buffer queries_, d_queries_, mixed_, d_mixed_, output_, d_weights_;
  std::vector<Buffer> weights_;   ///< weights of each head [n, m]
  std::vector<Buffer> squares_;   ///< distances of each head [n, m], of a block or of all queries
  bool distances_known_ = false;  ///< all are in squares_, if they stay the same
  std::vector<float> ones_;
  nn::ScoreBuffers scores_;
};

}  // namespace bert
