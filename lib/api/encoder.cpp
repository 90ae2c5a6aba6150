#include <fmt/format.h>

#include <algorithm>

#include "api/handles.h"

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

/// hidden states [T, H] of a layer, in batch.result
Matrix hidden_states(bert_batch& batch, size_t layer) {
  const Matrix states =
      batch.result.matrix(batch.tokens(), batch.model.model().config().hidden_size);
  ForwardOptions options;
  options.last_layer = layer;
  for_each_pack(
      batch,
      [&](size_t first, const PackedBatch&, Matrix hidden) {
        std::copy_n(hidden.data, hidden.rows * hidden.cols, states.row(batch.begins[first]));
      },
      options);
  return states;
}

/// The vectors of sequences before the dense modules [S, poolings * H], in batch.result.
Matrix pooled_vectors(bert_batch& batch) {
  const bert_model& of = batch.model;
  const Matrix pooled = batch.result.zeros(batch.count, of.plan.poolings.size() * of.plan.features);
  if (of.fixed) {
    for (size_t s = 0; s < batch.count; ++s) {
      of.fixed->vectors.mean(batch.encoding(s).input_ids, of.fixed->left_out,
                             {pooled.row(s), pooled.cols}, batch.row);
    }
    return pooled;
  }
  const Tokenizer& tokenizer = of.tokenizer.tokenizer;
  const size_t prompt = of.plan.prompt_tokens(tokenizer, batch.encode, batch.scratch);
  std::vector<float> one(pooled.cols);
  for_each_pack(batch, [&](size_t first, const PackedBatch& packed, Matrix hidden) {
    for (size_t s = 0; s < packed.sequences(); ++s) {
      of.plan.pool_sequence(hidden.slice(packed.begin(s), packed.length(s)), prompt,
                            tokenizer.frame(), one);
      // Added to 0, as embed adds windows: -0 becomes 0.
      for (size_t i = 0; i < one.size(); ++i) pooled.row(first + s)[i] += one[i];
    }
  });
  return pooled;
}

/// Sentence vectors [S, W], by the steps of `embed`.
Matrix sentence_vectors(bert_batch& batch) {
  const bert_model& of = batch.model;
  Buffer whitened;  // the plan has none
  Matrix vectors = of.plan.finish(
      of.dense->apply(pooled_vectors(batch), batch.first, batch.second, batch.workspace.linear),
      whitened);
  // A caller's matrix has no gaps.
  for (size_t s = 1; vectors.stride > vectors.cols && s < vectors.rows; ++s) {
    std::copy_n(vectors.row(s), vectors.cols, vectors.data + s * vectors.cols);
  }
  vectors.stride = vectors.cols;
  return vectors;
}

/// The weights [n, n] of one head of the sequence that is packed, in batch.result.
Matrix attention_weights(bert_batch& batch, size_t sequence, size_t layer, size_t head) {
  const Encoding& encoding = batch.encoding(sequence);
  batch.packed.clear();
  batch.packed.append(encoding.input_ids, encoding.token_type_ids);
  const Matrix weights = batch.result.matrix(encoding.size(), encoding.size());
  ForwardOptions options;
  options.last_layer = layer;
  options.trace.request = Traced::probabilities;
  options.trace.layers = {layer};
  options.trace.heads = {head - 1};
  options.trace.show = [&](const TraceView& view) {
    for (size_t i = 0; i < weights.rows; ++i) {
      std::copy_n(view.values.row(i), weights.cols, weights.row(i));
    }
  };
  batch.model.model().forward(batch.packed, batch.workspace, options);
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
    need(states, "states") = view(hidden_states(
        *batch, resolve("layer", layer, 0, batch->model.model().config().num_hidden_layers)));
  });
}

int bert_sentence_vectors(bert_batch* batch, bert_matrix* vectors) {
  return guard([&] {
    need_task(need(batch, "batch").model, "");
    need(vectors, "vectors");
    if (batch->model.no_vectors) throw Error(*batch->model.no_vectors);
    *vectors = view(sentence_vectors(*batch));
  });
}

int bert_attention_weights(bert_batch* batch, size_t sequence, int layer, int head,
                           bert_matrix* weights) {
  return guard([&] {
    need(batch, "batch");
    need(weights, "weights");
    const Config& config = batch->model.model().config();
    if (sequence >= batch->count) {
      refuse("sequence", fmt::format("found {}, the batch has {}", sequence, batch->count));
    }
    *weights = view(attention_weights(*batch, sequence,
                                      resolve("layer", layer, 1, config.num_hidden_layers),
                                      resolve("head", head, 1, config.num_attention_heads)));
  });
}
