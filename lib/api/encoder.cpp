#include <fmt/format.h>

#include "api/handles.h"
#include "predict/states.h"

using namespace bert;
using namespace bert::api;

namespace {

/// The layer or head, `first` .. `count`, that an index of a caller means: below 0 from the end.
size_t resolve(const char* name, int index, int first, size_t count) {
  const int last = static_cast<int>(count);
  const int resolved = index < 0 ? last + 1 + index : index;
  if (resolved < first || resolved > last) {
    refuse(name, fmt::format("found {}, the model has {} to {}", index, first, last));
  }
  return static_cast<size_t>(resolved);
}

/// The weights [n, n] of one head of a sequence, in batch.result.
Matrix attention_weights(bert_batch& batch, size_t sequence, size_t layer, size_t head) {
  const Encoding& encoding = batch.sequences[sequence];
  const Matrix weights = batch.result.matrix(encoding.size(), encoding.size());
  show_attention(batch.model.model(), encoding, {Traced::probabilities, {layer}, {head - 1}},
                 batch.batcher, [&](const TraceView& view) { copy(view.values, weights); });
  return weights;
}

}  // namespace

namespace bert::api {

bert_matrix view(Matrix matrix) { return {matrix.data, matrix.rows, matrix.cols}; }

}  // namespace bert::api

int bert_embeddings(bert_batch* batch, bert_matrix* vectors) {
  return bert_hidden_states(batch, 0, vectors);
}

int bert_hidden_states(bert_batch* batch, int layer, bert_matrix* states) {
  return guard([&] {
    need(batch, "batch");
    const Config& config = batch->model.model().config();
    const size_t last = resolve("layer", layer, 0, config.num_hidden_layers);
    bert_matrix& to = need(states, "states");
    const Matrix all = batch->result.matrix(batch->tokens(), config.hidden_size);
    hidden_states(batch->model.model(), batch->sequences.encodings(), last, batch->batcher, all);
    to = view(all);
  });
}

int bert_sentence_vectors(bert_batch* batch, bert_matrix* vectors) {
  return guard([&] {
    need_task(need(batch, "batch").model, "");
    need(vectors, "vectors");
    if (batch->model.no_vectors) throw Error(*batch->model.no_vectors);
    if (!batch->vectors) {
      batch->vectors.emplace(*batch->model.vectors, batch->reader.options(), batch->batcher);
    }
    *vectors =
        view(batch->model.vectors->predict(batch->sequences, batch->count(), *batch->vectors));
  });
}

int bert_attention_weights(bert_batch* batch, size_t sequence, int layer, int head,
                           bert_matrix* weights) {
  return guard([&] {
    need(batch, "batch");
    need(weights, "weights");
    const Config& config = batch->model.model().config();
    if (sequence >= batch->count()) {
      refuse("sequence", fmt::format("found {}, the batch has {}", sequence, batch->count()));
    }
    *weights = view(attention_weights(*batch, sequence,
                                      resolve("layer", layer, 1, config.num_hidden_layers),
                                      resolve("head", head, 1, config.num_attention_heads)));
  });
}
