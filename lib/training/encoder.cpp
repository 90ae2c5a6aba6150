#include "training/encoder.h"

#include <algorithm>
#include <cmath>

#include "encoder/position_rows.h"
#include "nn/activation.h"
#include "nn/embedding_gradient.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "ops/kernels.h"

namespace bert::training {
namespace {

// Sites of dropout within a layer.
enum Site : uint64_t { kProbabilities, kAttentionOutput, kOutput };

void copy(ConstMatrix from, Matrix to) {
  for (size_t t = 0; t < from.rows; ++t) std::copy_n(from.row(t), from.cols, to.row(t));
}

}  // namespace

Matrix Encoder::embed() {
  const size_t tokens = batch_->tokens(), width = weights_.word.cols;
  const Matrix sum = embedding_sum_.matrix(tokens, width);  // [T, E]
  for (size_t t = 0; t < tokens; ++t) {
    const auto id = static_cast<size_t>(batch_->input_ids[t]);
    std::copy_n(weights_.word.row(id), width, sum.row(t));
  }
  if (weights_.token_type.data) embedding_forward(weights_.token_type, batch_->token_type_ids, sum);
  embedding_forward(weights_.position, position_rows_, sum);
  const Matrix embedded = embedded_.matrix(tokens, width);  // [T, E]
  layer_norm_forward(weights_.embedding_norm, config_.layer_norm_eps, sum, embedded,
                     embedding_statistics_.matrix(tokens, 2));
  dropout(dropout_.at(dropout_.hidden, 0, kOutput, dropout_.token_0), embedded);
  if (!weights_.projection.weight.data) return embedded;
  const Matrix hidden = projected_.matrix(tokens, config_.hidden_size);  // [T, H]
  linear_forward(weights_.projection, embedded, hidden, bf16_);
  return hidden;
}

AttentionPlan Encoder::attention_plan(size_t layer) const {
  return {batch_->cu_seq_lens,
          batch_->cu_seq_lens,
          config_.num_attention_heads,
          false,
          dropout_.at(dropout_.attention, layer, kProbabilities, dropout_.token_0),
          bf16_,
          position_bias_.rows()};
}

Matrix Encoder::block(size_t index, Matrix hidden) {
  const LayerWeights& w = weights_.layers[index];
  LayerKept& kept = layers_[index];
  const size_t tokens = hidden.rows, h = hidden.cols, i = config_.intermediate_size;

  const Matrix qkv = kept.qkv.matrix(tokens, 3 * h);  // [T, 3H]
  linear_forward(w.qkv, hidden, qkv, bf16_);
  const ConstMatrix q(qkv.data, tokens, h, qkv.stride), k(qkv.data + h, tokens, h, qkv.stride),
      v(qkv.data + 2 * h, tokens, h, qkv.stride);
  const Matrix context = kept.context.matrix(tokens, h);  // [T, H]
  attention_forward(attention_plan(index + 1), q, k, v, context,
                    kept.log_sums.matrix(config_.num_attention_heads, tokens), attention_);

  const Matrix attention_sum = kept.attention_sum.matrix(tokens, h);  // [T, H]
  linear_forward(w.attention_output, context, attention_sum, bf16_);
  const float rate = config_.family->drops_attention_output ? dropout_.hidden : 0;
  dropout(dropout_.at(rate, index + 1, kAttentionOutput, dropout_.token_0), attention_sum);
  add(hidden, attention_sum);
  const Matrix attended = kept.attended.matrix(tokens, h);  // [T, H]
  layer_norm_forward(w.attention_norm, config_.layer_norm_eps, attention_sum, attended,
                     kept.attention_statistics.matrix(tokens, 2));

  const Matrix intermediate = kept.intermediate.matrix(tokens, i);  // [T, I]
  linear_forward(w.intermediate, attended, intermediate, bf16_);
  const Matrix activated = kept.activated.matrix(tokens, i);  // [T, I]
  activation_forward(config_.hidden_act, intermediate, activated);
  const Matrix output_sum = kept.output_sum.matrix(tokens, h);  // [T, H]
  linear_forward(w.output, activated, output_sum, bf16_);
  dropout(dropout_.at(dropout_.hidden, index + 1, kOutput, dropout_.token_0), output_sum);
  add(attended, output_sum);
  const Matrix output = kept.output.matrix(tokens, h);  // [T, H]
  layer_norm_forward(w.output_norm, config_.layer_norm_eps, output_sum, output,
                     kept.output_statistics.matrix(tokens, 2));
  return output;
}

Matrix Encoder::forward(const PackedBatch& batch, const DropoutPlan& dropout) {
  batch_ = &batch;
  dropout_ = dropout;
  layers_.resize(config_.num_hidden_layers);
  position_rows_.clear();
  PositionRows rows(batch, config_.first_position());
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
  const LayerKept& kept = layers_[index];
  const size_t tokens = d.rows, h = d.cols, i = config_.intermediate_size;
  const Matrix d_dense = d_dense_.matrix(tokens, h);  // [T, H]
  const Matrix d_wide = d_wide_.matrix(tokens, i);    // [T, I]
  const ConstMatrix attended = view(kept.attended, h);

  // d is the gradient of the layer's output, then of the sum before its norm. The latter is also
  // that of the residual.
  layer_norm_backward(w.output_norm, view(kept.output_sum, h), view(kept.output_statistics, 2), d,
                      gradient.output_norm, d);
  copy(d, d_dense);
  dropout(dropout_.at(dropout_.hidden, index + 1, kOutput, dropout_.token_0), d_dense);
  linear_backward(w.output, view(kept.activated, i), d_dense, gradient.output, d_wide, false,
                  bf16_);
  activation_backward(config_.hidden_act, view(kept.intermediate, i), d_wide);
  linear_backward(w.intermediate, attended, d_wide, gradient.intermediate, d, true, bf16_);

  // d is the gradient of `attended`, then of the sum before its norm.
  layer_norm_backward(w.attention_norm, view(kept.attention_sum, h),
                      view(kept.attention_statistics, 2), d, gradient.attention_norm, d);
  copy(d, d_dense);
  const float rate = config_.family->drops_attention_output ? dropout_.hidden : 0;
  dropout(dropout_.at(rate, index + 1, kAttentionOutput, dropout_.token_0), d_dense);
  const ConstMatrix context = view(kept.context, h);
  const Matrix d_context = d_context_.matrix(tokens, h);  // [T, H]
  linear_backward(w.attention_output, context, d_dense, gradient.attention_output, d_context, false,
                  bf16_);

  const Matrix qkv = view(kept.qkv, 3 * h);
  const Matrix d_qkv = d_qkv_.matrix(tokens, 3 * h);  // [T, 3H]
  const auto part = [&](Matrix m, size_t n) { return Matrix(m.data + n * h, tokens, h, m.stride); };
  const Matrix log_sums(kept.log_sums.data(), config_.num_attention_heads, tokens);
  attention_backward(attention_plan(index + 1), part(qkv, 0), part(qkv, 1), part(qkv, 2), context,
                     log_sums, d_context, part(d_qkv, 0), part(d_qkv, 1), part(d_qkv, 2),
                     attention_, position_bias_.gradient());
  linear_backward(w.qkv, hidden, d_qkv, gradient.qkv, d, true, bf16_);
}

void Encoder::embed_backward(Matrix d, const ModelWeights& gradient) {
  const size_t width = weights_.word.cols;
  const ConstMatrix embedded = view(embedded_, width);
  if (weights_.projection.weight.data) {
    const Matrix d_embedded = d_dense_.matrix(d.rows, width);  // [T, E]
    linear_backward(weights_.projection, embedded, d, gradient.projection, d_embedded, false,
                    bf16_);
    d = d_embedded;
  }
  dropout(dropout_.at(dropout_.hidden, 0, kOutput, dropout_.token_0), d);
  layer_norm_backward(weights_.embedding_norm, view(embedding_sum_, width),
                      view(embedding_statistics_, 2), d, gradient.embedding_norm, d);
  // Positions that begin behind the padding token's have torch's padding_idx, too.
  const auto before_first = static_cast<int32_t>(config_.first_position()) - 1;
  const int32_t padding = before_first < 0 ? config_.pad_token_id : before_first;
  embedding_backward(batch_->input_ids, d, gradient.word, padding);
  embedding_backward(position_rows_, d, gradient.position, before_first);
  if (gradient.token_type.data) {
    embedding_backward(batch_->token_type_ids, d, gradient.token_type);
  }
}

void Encoder::backward(Matrix d_hidden, const ModelWeights& gradient, int32_t lowest) {
  const size_t bottom = lowest > 0 ? static_cast<size_t>(lowest) - 1 : 0;
  for (size_t l = layers_.size(); l-- > bottom;) {
    const Matrix below = l > 0 ? view(layers_[l - 1].output, d_hidden.cols)
                         : weights_.projection.weight.data ? view(projected_, d_hidden.cols)
                                                           : view(embedded_, d_hidden.cols);
    block_backward(l, below, d_hidden, gradient.layers[l]);
  }
  if (lowest > 0) return;
  embed_backward(d_hidden, gradient);
  if (gradient.position_bias.data) position_bias_.gather(gradient.position_bias);
}

}  // namespace bert::training
