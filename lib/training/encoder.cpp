#include "training/encoder.h"

#include <algorithm>
#include <cmath>

#include "encoder/position_rows.h"
#include "nn/embedding_gradient.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "ops/kernels.h"

namespace bert::training {
namespace {

// Sites of dropout within a layer.
enum Site : uint64_t { kProbabilities, kAttentionOutput, kOutput };

}  // namespace

Matrix Encoder::embed() {
  const size_t tokens = batch_->tokens(), width = weights_.word.cols;
  const Matrix sum = embedding_sum_.matrix(tokens, width);  // [T, E]
  for (size_t t = 0; t < tokens; ++t) {
    const auto id = static_cast<size_t>(batch_->input_ids[t]);
    std::copy_n(weights_.word.row(id), width, sum.row(t));
  }
  if (weights_.token_type.data)
    nn::embedding_forward(weights_.token_type, batch_->token_type_ids, sum);
  nn::embedding_forward(weights_.position, position_rows_, sum);
  const Matrix embedded = embedded_.matrix(tokens, width);  // [T, E]
  nn::layer_norm_forward(weights_.embedding_norm, config_.layer_norm_eps, sum, embedded,
                         embedding_statistics_.matrix(tokens, 2));
  dropout(dropout_.at(dropout_.hidden, 0, kOutput, dropout_.token_0), embedded);
  if (!weights_.projection.weight.data) return embedded;
  const Matrix hidden = projected_.matrix(tokens, config_.hidden_size);  // [T, H]
  nn::linear_forward(weights_.projection, embedded, hidden, bf16_);
  return hidden;
}

nn::AttentionPlan Encoder::attention_plan(size_t layer) const {
  return {batch_->cu_seq_lens,
          batch_->cu_seq_lens,
          config_.num_attention_heads,
          false,
          dropout_.at(dropout_.attention, layer, kProbabilities, dropout_.token_0),
          bf16_,
          position_bias_.rows()};
}

nn::Dropout Encoder::attention_dropout(size_t layer) const {
  const float rate = config_.family->drops_attention_output ? dropout_.hidden : 0;
  return dropout_.at(rate, layer, kAttentionOutput, dropout_.token_0);
}
nn::Dropout Encoder::output_dropout(size_t layer) const {
  return dropout_.at(dropout_.hidden, layer, kOutput, dropout_.token_0);
}

Matrix Encoder::block(size_t index, Matrix hidden) {
  const LayerWeights& w = weights_.layers[index];
  EncoderLayer& layer = layers_[index];
  layer.attended =
      layer.attention.forward(w.attention, attention_plan(index + 1), config_.layer_norm_eps,
                              attention_dropout(index + 1), hidden, hidden, scratch_);
  return layer.net.forward(w.net, config_.hidden_act, config_.layer_norm_eps,
                           output_dropout(index + 1), layer.attended, scratch_);
}

Matrix Encoder::forward(const PackedBatch& batch, const DropoutPlan& dropout) {
  batch_ = &batch;
  dropout_ = dropout;
  layers_.resize(config_.num_hidden_layers);
  position_rows_.clear();
  PositionRows rows(batch, config_.first_position(), config_.padding_without_place());
  for (size_t t = 0; t < batch.tokens(); ++t) {
    position_rows_.push_back(static_cast<int32_t>(rows.next(t)));
  }
  position_bias_.spread(weights_.position_bias, batch,
                        1.f / std::sqrt(static_cast<float>(config_.head_size())));
  Matrix hidden = embed();
  for (size_t l = 0; l < layers_.size(); ++l) hidden = block(l, hidden);
  return hidden;
}

void Encoder::block_backward(size_t index, ConstMatrix hidden, Matrix d,
                             const LayerWeights& gradient) {
  const LayerWeights& w = weights_.layers[index];
  EncoderLayer& layer = layers_[index];
  layer.net.backward(w.net, config_.hidden_act, output_dropout(index + 1), layer.attended, d,
                     gradient.net, scratch_);
  layer.attention.backward(w.attention, attention_plan(index + 1), attention_dropout(index + 1),
                           hidden, hidden, d, {}, gradient.attention, scratch_,
                           position_bias_.gradient());
}

void Encoder::embed_backward(Matrix d, const ModelWeights& gradient) {
  const size_t width = weights_.word.cols;
  const ConstMatrix embedded = view(embedded_, width);
  if (weights_.projection.weight.data) {
    const Matrix d_embedded = d_embedded_.matrix(d.rows, width);  // [T, E]
    nn::linear_backward(weights_.projection, embedded, d, gradient.projection, d_embedded, false,
                        bf16_);
    d = d_embedded;
  }
  dropout(dropout_.at(dropout_.hidden, 0, kOutput, dropout_.token_0), d);
  nn::layer_norm_backward(weights_.embedding_norm, view(embedding_sum_, width),
                          view(embedding_statistics_, 2), d, gradient.embedding_norm, d);
  // Positions that begin behind the padding token's have torch's padding_idx, too.
  const auto before_first = static_cast<int32_t>(config_.first_position()) - 1;
  const int32_t padding = before_first < 0 ? config_.pad_token_id : before_first;
  nn::embedding_backward(batch_->input_ids, d, gradient.word, padding);
  nn::embedding_backward(position_rows_, d, gradient.position, before_first);
  if (gradient.token_type.data) {
    nn::embedding_backward(batch_->token_type_ids, d, gradient.token_type);
  }
}

ConstMatrix Encoder::layer(size_t layer) const {
  const size_t width = config_.hidden_size;
  if (layer > 0) return layers_[layer - 1].net.output(batch_->tokens(), width);
  return view(weights_.projection.weight.data ? projected_ : embedded_, width);
}

void Encoder::backward(Matrix d_hidden, const ModelWeights& gradient, int32_t lowest) {
  const size_t bottom = lowest > 0 ? static_cast<size_t>(lowest) - 1 : 0;
  for (size_t l = layers_.size(); l-- > bottom;) {
    block_backward(l, layer(l), d_hidden, gradient.layers[l]);
  }
  if (lowest > 0) return;
  embed_backward(d_hidden, gradient);
  if (gradient.position_bias.data) position_bias_.gather(gradient.position_bias);
}

}  // namespace bert::training
