#pragma once

#include <memory>
#include <span>
#include <string>

#include "checkpoint/weights.h"
#include "encoder/alike.h"
#include "encoder/disentangled.h"
#include "encoder/norm.h"
#include "encoder/packed_batch.h"
#include "encoder/rotary.h"
#include "encoder/trace.h"
#include "model/config.h"
#include "ops/attention_kernel.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// Buffers of one thread for self_attention.
struct AttentionScratch {
  Buffer qkv;                    ///< [T, (A + 2K) D]: query, key and value of every token
  Buffer kinds, kind_rows;       ///< [U, (A + 2K) D], [U, H]: each kind of token, and its input
  AttentionBuffers heads;        ///< scratch of the attention kernels
  RotaryTables turns;            ///< sines and cosines of rotary positions
  Buffer scores, probabilities;  ///< [n, n] of one head, for a trace
};

/// What one pass through a layer has besides its input.
struct LayerPass {
  LayerTrace trace = {};               ///< what is to be seen of it
  const AlikeTokens* alike = nullptr;  ///< rows of the input that are known to be equal, which
                                       ///< saves their projections and changes no bit
  ConstMatrix values = {};             ///< [T, H] what values are made of, if not of the input
  std::span<const size_t> off = {};    ///< heads, 0 .. A - 1, whose output is zero
};

/// Query, key and value projections of one layer, as one product: rows [0, A D) of the stacked
/// matrix are the query's, then the key's [K D], then the value's. In most models A = K and A D =
/// H. Stored [out, in]; q = W x + b, so a row vector x is multiplied by W transposed.
struct AttentionWeights {
  Linear qkv;                 ///< [(A + 2K) D, H]; without the values if these read something else
  Linear values;              ///< [K D, H] then
  size_t head_size = 0;       ///< D
  Norm query_norm, key_norm;  ///< over each head [D], before it turns, or none
  AttentionForm form;         ///< heads, scale, window, and the bias, which is borrowed
  Rotary rotary;              ///< how queries and keys turn, if they do
  std::unique_ptr<const DisentangledBias> disentangled;  ///< DeBERTa's bias, or nullptr

  size_t width() const { return form.heads * head_size; }  ///< A D
  /// Of layer `layer` of the file. `bias` and `positions` are those of the model, or nullptr; they
  /// must outlive it. Throws Error(data) naming a tensor of this layer.
  static AttentionWeights load(const Config& config, const Weights& weights, size_t layer,
                               Precision precision, const AttentionBias* bias,
                               const RelativePositions* positions);
};

/// Query, key and value projections, then multi-head self-attention over a packed batch
/// (Vaswani et al. 2017, 3.2).
///
///   hidden  [T, H]  in: the layer's input        T tokens of S sequences, H = config.hidden_size
///   context [T, A D]  out: the heads' outputs side by side, before the output projection
///
/// A token attends to its own sequence only (batch.cu_seq_lens), so there is no padding, and no
/// mask but batch.attended. Scores are scaled by 1 / sqrt(D), in DeBERTa by 1 / sqrt(D (1 + parts
/// of the bias)), in Gemma by a number of its own; softmax in float. Nothing is thrown. One
/// `scratch` per thread. Heads that are off leave zeros.
void self_attention(const AttentionWeights& weights, const PackedBatch& batch, ConstMatrix hidden,
                    Matrix context, AttentionScratch& scratch, LinearScratch& linear_scratch,
                    const LayerPass& pass = {});

}  // namespace bert
