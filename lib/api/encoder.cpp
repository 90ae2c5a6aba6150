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
  const Matrix states = batch.result.matrix(batch.tokens(), batch.model.model.config().hidden_size);
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

/// Sentence vectors [S, W], by the steps of `embed`.
Matrix sentence_vectors(bert_batch& batch) {
  const bert_model& of = batch.model;
  const size_t H = of.model.config().hidden_size;
  const Matrix pooled = batch.result.matrix(batch.count, of.plan.poolings.size() * H);
  std::fill_n(pooled.data, pooled.rows * pooled.cols, 0.0f);
  size_t prompt_tokens = 0;
  if (!of.plan.prompt.empty() && !of.plan.prompt_is_pooled) {
    Encoding prompt;
    of.tokenizer.tokenizer.encode(of.plan.prompt, batch.encode, prompt, batch.scratch);
    prompt_tokens = prompt.size() - 1;  // [CLS] counts, [SEP] does not
  }
  std::vector<float> one(H);
  for_each_pack(batch, [&](size_t first, const PackedBatch& packed, Matrix hidden) {
    for (size_t s = 0; s < packed.sequences(); ++s) {
      const Matrix tokens = hidden.slice(packed.begin(s), packed.length(s));
      for (size_t i = 0; i < of.plan.poolings.size(); ++i) {
        pool(of.plan.poolings[i], tokens, one, prompt_tokens);
        for (size_t k = 0; k < H; ++k) pooled.row(first + s)[i * H + k] += one[k];
      }
    }
  });
  const Matrix vectors = of.dense->apply(pooled, batch.first, batch.second, batch.workspace.linear);
  for (size_t s = 0; of.plan.normalize && s < vectors.rows; ++s) {
    normalize_l2({vectors.row(s), vectors.cols});
  }
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
  batch.model.model.forward(batch.packed, batch.workspace, options);
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
        *batch, resolve("layer", layer, 0, batch->model.model.config().num_hidden_layers)));
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
    const Config& config = batch->model.model.config();
    if (sequence >= batch->count) {
      refuse("sequence", fmt::format("found {}, the batch has {}", sequence, batch->count));
    }
    *weights = view(attention_weights(*batch, sequence,
                                      resolve("layer", layer, 1, config.num_hidden_layers),
                                      resolve("head", head, 1, config.num_attention_heads)));
  });
}
