#pragma once

#include <span>
#include <string>
#include <vector>

#include "encoder/attention.h"
#include "encoder/bottleneck.h"
#include "encoder/norm.h"
#include "encoder/workspace.h"

namespace bert {

/// What the layers of a model share, which must outlive them.
struct LayerContext {
  const AttentionBias* bias = nullptr;  ///< numbers added to the scores by distance, or nullptr
  const RelativePositions* positions = nullptr;  ///< vectors of distances (DeBERTa), or nullptr
};

/// One transformer block (Vaswani et al. 2017, 3.1, encoder): self-attention and the position-wise
/// feed-forward net, each with its residual and its norm. The norms stand
///
///   after    y = LN(x + attention(x));       z = LN(y + net(y))
///   before   y = x + attention(LN(x));       z = y + net(LN(y))       (Xiong et al. 2020)
///   around   y = x + LN(attention(LN(x)));   z = y + LN(net(LN(y)))   (Gemma)
///
/// The net is W2 act(W1 x), or gated, W2 (act(Wg x) * Wu x) (Shazeer 2020). Behind a bottleneck,
/// all but hidden states is B wide, not H (MobileBERT).
class Layer {
 public:
  /// Layer `index` of a pass, from 0. Throws Error(data) naming a tensor of it.
  static Layer load(const Config& config, const Weights& weights, size_t index, Precision precision,
                    const LayerContext& context);

  /// hidden [T, H] -> hidden [T, H], in place. Thread rule: one workspace per thread.
  void forward(const PackedBatch& batch, Matrix hidden, Workspace& workspace,
               const LayerPass& pass = {}) const;
  /// The rows of the same result that `rows` names (strictly ascending), bit-equal to those of
  /// forward: hidden [T, H] -> its first M rows, [M, H]. Only they pass through what follows
  /// attention, three quarters of a block's work; of that nothing is traced.
  Matrix forward_rows(const PackedBatch& batch, Matrix hidden, std::span<const size_t> rows,
                      Workspace& workspace, const LayerPass& pass = {}) const;

 private:
  /// Attention of all tokens: hidden [T, H] -> context [T, A D].
  Matrix attend(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace,
                const LayerPass& pass) const;
  /// What follows attention, row by row: context [T, A D], hidden [T, H] in place.
  void finish(ConstMatrix context, Matrix hidden, Workspace& workspace,
              const LayerTrace& trace) const;
  /// The feed-forward net of B rows: input [B, H] -> output [B, H], with a residual [B, H] or none.
  /// `first` is the first row's number in the batch.
  void feed_forward(ConstMatrix input, ConstMatrix residual, Matrix output, size_t first,
                    Workspace& workspace, const LayerTrace& trace) const;

  /// What attention and the net are added to: hidden itself, or [T, B] behind the bottleneck.
  Matrix enter(Matrix hidden, Workspace& workspace) const;

  AttentionWeights attention_;
  Linear attention_output_;  ///< [H, A D]
  Norm attention_norm_;      ///< none before the first layer where norms stand before
  Linear intermediate_;      ///< [I, H], then hidden_act; of a gated net [2I, H]
  Linear output_;            ///< [H, I]
  Norm output_norm_;
  Norm attention_exit_norm_, output_exit_norm_;  ///< where norms stand around
  Bottleneck bottleneck_;                        ///< or none
  Activation hidden_act_ = Activation::gelu;
  bool gated_ = false;
  bool norms_before_ = false;
};

/// Moves the named rows of `matrix`, strictly ascending, to its top; returns them, [M, cols].
Matrix keep_rows(Matrix matrix, std::span<const size_t> rows);

}  // namespace bert
