#pragma once

#include "encoder/attention.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// Every activation of one thread; grown, never shrunk. T tokens, H hidden, I intermediate.
struct Workspace {
  Buffer hidden;        ///< [T, H] the layer's input and output
  Buffer context;       ///< [T, H] attention's output
  Buffer attended;      ///< [T, H] after the attention block's layer norm
  Buffer intermediate;  ///< [T, I]
  Buffer embedding;     ///< [T, E] when E is not H
  Buffer narrow;        ///< [T, B] a layer's input and output, behind a bottleneck
  Buffer convolved;     ///< [T, H] what DeBERTa's convolution reads
  Buffer windows;       ///< [B, K * H] its windows
  Buffer pooled;        ///< [S, H]
  Buffer rows;          ///< rows that a head gathers, [M, H]
  Buffer rows2;
  Buffer logits;      ///< [M, V] or [S, labels]
  AlikeTokens alike;  ///< tokens that the first layer computes once
  AttentionScratch attention;
  LinearScratch linear;
};

}  // namespace bert
