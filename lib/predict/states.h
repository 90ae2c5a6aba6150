#pragma once

#include <functional>
#include <span>

#include "predict/batcher.h"
#include "predict/sequences.h"

namespace bert {

/// Hidden states [T, H] of a layer, 0 .. L, of all sequences end to end.
BERT_API void hidden_states(const Model& model, std::span<const Encoding> sequences, size_t layer,
                            Batcher& batcher, Matrix out);

/// What is shown of the attention of one sequence: `what` of these layers, 1 .. L, and heads,
/// 0 .. A - 1.
struct AttentionRequest {
  TraceMask what;
  std::vector<size_t> layers;
  std::vector<size_t> heads;
};
/// Calls show(view) for each matrix, layer by layer, head by head; no layer behind the last is
/// computed.
BERT_API void show_attention(const Model& model, const Encoding& sequence,
                             const AttentionRequest& request, Batcher& batcher,
                             const std::function<void(const TraceView&)>& show);

}  // namespace bert
