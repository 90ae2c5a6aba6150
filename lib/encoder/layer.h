#pragma once

#include <span>
#include <string>
#include <vector>

#include "encoder/attention.h"
#include "encoder/workspace.h"

namespace bert {

/// A dense projection, the residual of the block's input, then layer norm: LN(x W^T + b +
/// residual).
struct AddNorm {
  Linear dense;
  std::vector<float> norm_weight, norm_bias;  ///< [H]
  float eps = 0;

  static AddNorm load(const Config& config, const Weights& weights, Role dense, Role norm,
                      size_t layer, Precision precision);
  /// x [T, K], residual [T, H], output [T, H]
  void operator()(ConstMatrix x, ConstMatrix residual, Matrix output, LinearScratch& scratch) const;
};

/// One post-norm transformer block (Vaswani et al. 2017, 3.1, encoder): self-attention with add &
/// norm, then the position-wise feed-forward net with add & norm.
class Layer {
 public:
  /// `position_bias` is that of the model, which must outlive the layer. Throws Error(data) naming
  /// a tensor of layer `index`.
  static Layer load(const Config& config, const Weights& weights, size_t index, Precision precision,
                    ConstMatrix position_bias = {});

  /// hidden [T, H] -> hidden [T, H], in place. `alike`: rows that are known to be equal, or
  /// nullptr. Thread rule: one workspace per thread.
  void forward(const PackedBatch& batch, Matrix hidden, Workspace& workspace,
               const LayerTrace& trace = {}, const AlikeTokens* alike = nullptr) const;
  /// The rows of the same result that `rows` names (strictly ascending), bit-equal to those of
  /// forward: hidden [T, H] -> its first M rows, [M, H]. Only they pass through the add & norm and
  /// the feed-forward net, three quarters of a block's work.
  Matrix forward_rows(const PackedBatch& batch, Matrix hidden, std::span<const size_t> rows,
                      Workspace& workspace) const;

 private:
  /// What follows attention, row by row: context [T, H], hidden [T, H] in place.
  void finish(ConstMatrix context, Matrix hidden, Workspace& workspace,
              const LayerTrace& trace) const;

  AttentionWeights attention_;
  AddNorm attention_output_;  ///< [H, H]
  Linear intermediate_;       ///< [I, H], then hidden_act
  AddNorm output_;            ///< [H, I]
  Activation hidden_act_ = Activation::gelu;
};

/// Moves the named rows of `matrix`, strictly ascending, to its top; returns them, [M, cols].
Matrix keep_rows(Matrix matrix, std::span<const size_t> rows);

}  // namespace bert
