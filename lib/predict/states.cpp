#include "predict/states.h"

#include <algorithm>

namespace bert {

void hidden_states(const Model& model, std::span<const Encoding> sequences, size_t layer,
                   Batcher& batcher, Matrix out) {
  ForwardOptions options;
  options.last_layer = layer;
  size_t row = 0;
  batcher.run(
      model, sequences,
      [&](size_t, const PackedBatch&, Matrix hidden) {
        copy(hidden, out.slice(row, hidden.rows));
        row += hidden.rows;
      },
      options);
}

void show_attention(const Model& model, const Encoding& sequence, const AttentionRequest& request,
                    Batcher& batcher, const std::function<void(const TraceView&)>& show) {
  ForwardOptions options;
  options.last_layer = *std::max_element(request.layers.begin(), request.layers.end());
  options.trace = {request.what, request.layers, request.heads, show};
  batcher.run(
      model, {&sequence, 1}, [](size_t, const PackedBatch&, Matrix) {}, options);
}

}  // namespace bert
