#include "training/encoder.h"

#include <algorithm>
#include <cmath>

#include "encoder/embedding.h"
#include "encoder/position_rows.h"
#include "nn/embedding_gradient.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::training {
namespace {

// Sites of dropout within a layer; the embeddings' is kOutput of layer 0.
enum Site : uint64_t { kProbabilities, kAttentionOutput, kOutput, kDistances, kConvolution };

}  // namespace

/// The factors of the word vectors (encoder/embedding.h).
void Encoder::scale_words() {
  word_scales_.clear();
  if (config_.token_dropout) {
    word_scales_.resize(batch_->tokens());
    for (size_t s = 0; s < batch_->sequences(); ++s) {
      const size_t begin = batch_->begin(s), n = batch_->length(s);
      const std::span<const int32_t> ids = std::span(batch_->input_ids).subspan(begin, n);
      const float scale = dropped_words_scale(ids, config_.mask_token_id);
      for (size_t t = 0; t < n; ++t) {
        word_scales_[begin + t] = ids[t] == config_.mask_token_id ? 0 : scale;
      }
    }
  } else if (config_.embedding_scale != 1) {
    word_scales_.assign(batch_->tokens(), config_.embedding_scale);
  }
}

/// The sum of all tables' vectors [T, E].
Matrix Encoder::add_up() {
  const size_t tokens = batch_->tokens(), width = weights_.word.cols;
  const Matrix sum = embedding_sum_.matrix(tokens, width);
  scale_words();
  for (size_t t = 0; t < tokens; ++t) {
    const auto id = static_cast<size_t>(batch_->input_ids[t]);
    std::copy_n(weights_.word.row(id), width, sum.row(t));
    if (word_scales_.empty()) continue;
    for (size_t i = 0; i < width; ++i) sum.row(t)[i] *= word_scales_[t];
  }
  add_places(sum);
  return sum;
}

/// Adds what says where tokens stand.
void Encoder::add_places(Matrix sum) {
  if (weights_.token_type.data)
    nn::embedding_forward(weights_.token_type, batch_->token_type_ids, sum);
  if (weights_.position.data) nn::embedding_forward(weights_.position, position_rows_, sum);
  for (size_t t = 0; weights_.task_type.data && t < sum.rows; ++t) {
    add(weights_.task_type.slice(0, 1), sum.slice(t, 1));
  }
}

/// Calls use(t, n, id) for each word n of the three that MobileBERT makes token t of: the next one,
/// its own, the last one.
template <typename Use>
void Encoder::for_each_word(Use use) const {
  for (size_t s = 0; s < batch_->sequences(); ++s) {
    const size_t begin = batch_->begin(s), end = batch_->cu_seq_lens[s + 1];
    for (size_t t = begin; t < end; ++t) {
      if (t + 1 < end) use(t, 0, batch_->input_ids[t + 1]);
      use(t, 1, batch_->input_ids[t]);
      if (t > begin) use(t, 2, batch_->input_ids[t - 1]);
    }
  }
}

/// The vectors of the three [T, 3E]; zeros where there is none.
Matrix Encoder::three_words() {
  const size_t width = weights_.word.cols;
  const Matrix words = embedding_sum_.zeros(batch_->tokens(), 3 * width);
  for_each_word([&](size_t t, size_t n, int32_t id) {
    std::copy_n(weights_.word.row(static_cast<size_t>(id)), width, words.row(t) + n * width);
  });
  return words;
}

Matrix Encoder::embed() {
  const size_t tokens = batch_->tokens(), h = config_.hidden_size;
  const bool trigrams = config_.family->trigrams;
  Matrix x = trigrams ? three_words() : add_up();
  if (projects_first()) {
    const Matrix projected = projected_.matrix(tokens, h);
    nn::linear_forward(weights_.projection, x, projected, bf16_);
    if (trigrams) add_places(projected);
    x = projected;
  }
  const Matrix embedded = embedded_.matrix(tokens, x.cols);  // [T, E] or [T, H]
  if (weights_.embedding_norm.weight) {
    nn::norm_forward(weights_.embedding_norm, form_.norm, x, embedded,
                     embedding_statistics_.matrix(tokens, 2));
  } else {
    copy(x, embedded);
  }
  dropout(dropout_at(0, kOutput), embedded);
  if (!weights_.projection.weight.data || projects_first()) return embedded;
  const Matrix hidden = projected_.matrix(tokens, h);  // [T, H]
  nn::linear_forward(weights_.projection, embedded, hidden, bf16_);
  return hidden;
}

nn::AttentionPlan Encoder::attention_plan(size_t index) {
  nn::AttentionPlan plan;
  plan.cu_queries = plan.cu_keys = batch_->cu_seq_lens;
  plan.attended = batch_->attended;
  plan.num_attention_heads = config_.num_attention_heads;
  plan.num_key_value_heads = config_.num_key_value_heads;
  plan.dropout = dropout_at(index + 1, kProbabilities);
  plan.bf16 = bf16_;
  plan.bias = position_bias_.rows();
  plan.behind = config_.window(index);
  plan.ahead = config_.bidirectional ? config_.window(index) : 0;
  plan.scale = 1.f / std::sqrt(static_cast<float>(config_.score_divisor()));
  if (distances_) plan.terms = &layers_[index].distances;
  return plan;
}

Turns Encoder::turns(size_t index) const {
  const bool local = config_.window(index) != SIZE_MAX;
  return {local ? config_.local_rotary : config_.rotary, batch_};
}

nn::Dropout Encoder::dropout_at(size_t layer, uint64_t site) const {
  const Family& family = *config_.family;
  const bool none = (site == kAttentionOutput && !family.drops_attention_output) ||
                    (site == kOutput && layer > 0 && !family.drops_net_output) ||
                    (site == kOutput && layer == 0 && !family.drops_embeddings);
  const float rate = site == kProbabilities ? dropout_.attention : dropout_.hidden;
  const size_t row_0 = site == kDistances ? distances_.first() : dropout_.token_0;
  return dropout_.at(none ? 0 : rate, layer, site, row_0);
}

ConstMatrix Encoder::block(size_t index, ConstMatrix hidden) {
  const LayerWeights& w = weights_.layers[index];
  EncoderLayer& layer = layers_[index];
  layer.input = hidden;
  if (distances_) {
    layer.distances.forward(w.attention, distances_, dropout_at(index + 1, kDistances));
  }
  if (w.bottleneck) {
    return layer.output =
               layer.bottleneck.forward({w.attention, w.net, w.bottleneck}, attention_plan(index),
                                        form_, dropout_at(index + 1, kOutput), hidden, scratch_);
  }
  layer.attended = layer.attention.forward(w.attention, attention_plan(index), form_,
                                           dropout_at(index + 1, kAttentionOutput), hidden, hidden,
                                           scratch_, turns(index));
  Matrix x =
      layer.net.forward(w.net, form_, dropout_at(index + 1, kOutput), layer.attended, scratch_);
  if (index == 0 && weights_.convolution.weight.data) {
    x = convolution_.forward(weights_, dropout_at(1, kConvolution), *batch_, hidden, x);
  }
  if (index + 1 == layers_.size() && weights_.final_norm.weight) {
    last_ = x;
    const Matrix normal = normal_.matrix(x.rows, x.cols);
    nn::norm_forward(weights_.final_norm, form_.norm, x, normal,
                     final_statistics_.matrix(x.rows, 2));
    x = normal;
  }
  return layer.output = x;
}

ConstMatrix Encoder::forward(const PackedBatch& batch, const DropoutPlan& dropout) {
  batch_ = &batch;
  dropout_ = dropout;
  layers_.resize(config_.num_hidden_layers);
  position_rows_.clear();
  PositionRows rows(batch, config_.position_table ? config_.first_position() : 0,
                    config_.padding_without_place());
  for (size_t t = 0; t < batch.tokens(); ++t) {
    position_rows_.push_back(static_cast<int32_t>(rows.next(t)));
  }
  position_bias_.spread(weights_.position_bias, batch,
                        1.f / std::sqrt(static_cast<float>(config_.head_size())));
  distances_.begin(weights_, batch);
  embedding_ = embed();
  ConstMatrix hidden = embedding_;
  for (size_t l = 0; l < layers_.size(); ++l) hidden = block(l, hidden);
  return hidden;
}

void Encoder::block_backward(size_t index, Matrix d, const ModelWeights& gradient,
                             const Turn& turn) {
  const LayerWeights &w = weights_.layers[index], &g = gradient.layers[index];
  EncoderLayer& layer = layers_[index];
  turn.reach(net_stage(index));
  if (w.bottleneck) {
    const BottleneckLayer::Weights own{w.attention, w.net, w.bottleneck};
    const BottleneckLayer::Weights sums{g.attention, g.net, g.bottleneck};
    layer.bottleneck.backward_nets(own, form_, dropout_at(index + 1, kOutput), d, sums, scratch_);
    turn.reach(attention_stage(index));
    layer.bottleneck.backward_attention(own, attention_plan(index), form_, layer.input, d, sums,
                                        scratch_);
    return;
  }
  if (index + 1 == layers_.size() && weights_.final_norm.weight) {
    nn::norm_backward(weights_.final_norm, form_.norm, last_, view(final_statistics_, 2), d,
                      gradient.final_norm, d);
  }
  Matrix d_input;  // through the convolution
  if (index == 0 && weights_.convolution.weight.data) {
    d_input = convolution_.backward(weights_, dropout_at(1, kConvolution), *batch_, d, gradient);
  }
  layer.net.backward(w.net, form_, dropout_at(index + 1, kOutput), layer.attended, d, g.net,
                     scratch_);
  turn.reach(attention_stage(index));
  layer.attention.backward(w.attention, attention_plan(index), form_,
                           dropout_at(index + 1, kAttentionOutput), layer.input, layer.input, d, {},
                           g.attention, scratch_, position_bias_.gradient(), turns(index));
  if (distances_) {
    layer.distances.finish(w.attention, g.attention, dropout_at(index + 1, kDistances));
  }
  if (d_input.data) add(d_input, d);
}

void Encoder::embed_backward(Matrix d, const ModelWeights& gradient) {
  const bool trigrams = config_.family->trigrams;
  const size_t width = (trigrams ? 3 : 1) * weights_.word.cols;
  const Matrix sum = view(embedding_sum_, width);
  const bool first = projects_first();
  const auto through_projection = [&](ConstMatrix input) {
    const Matrix d_input = d_embedded_.matrix(d.rows, width);  // [T, E]
    nn::linear_backward(weights_.projection, input, d, gradient.projection, d_input, false, bf16_);
    d = d_input;
  };
  if (weights_.projection.weight.data && !first) through_projection(view(embedded_, width));
  dropout(dropout_at(0, kOutput), d);
  if (weights_.embedding_norm.weight) {
    nn::norm_backward(weights_.embedding_norm, form_.norm, first ? view(projected_, d.cols) : sum,
                      view(embedding_statistics_, 2), d, gradient.embedding_norm, d);
  }
  if (!trigrams && first) through_projection(sum);
  add_places_backward(d, gradient);
  if (trigrams) through_projection(sum);
  words_backward(d, gradient);
}

void Encoder::add_places_backward(Matrix d, const ModelWeights& gradient) {
  const auto before_first = static_cast<int32_t>(config_.first_position()) - 1;
  if (gradient.position.data) {
    nn::embedding_backward(position_rows_, d, gradient.position, before_first);
  }
  if (gradient.token_type.data) {
    nn::embedding_backward(batch_->token_type_ids, d, gradient.token_type);
  }
  for (size_t t = 0; gradient.task_type.data && t < d.rows; ++t) {
    add(d.slice(t, 1), gradient.task_type.slice(0, 1));
  }
}

void Encoder::words_backward(Matrix d, const ModelWeights& gradient) {
  // Positions that begin behind the padding token's have torch's padding_idx, too.
  const auto before_first = static_cast<int32_t>(config_.first_position()) - 1;
  const int32_t padding = before_first < 0 ? config_.pad_token_id : before_first;
  if (config_.family->trigrams) {
    const size_t width = gradient.word.cols;
    for_each_word([&](size_t t, size_t n, int32_t id) {
      if (id == padding) return;
      gradient_kernels().axpy(1.f, d.row(t) + n * width, width,
                              gradient.word.row(static_cast<size_t>(id)));
    });
    return;
  }
  Matrix d_words = d;
  if (!word_scales_.empty()) {
    d_words = d_words_.matrix(d.rows, d.cols);
    for (size_t t = 0; t < d.rows; ++t) {
      for (size_t i = 0; i < d.cols; ++i) d_words.row(t)[i] = d.row(t)[i] * word_scales_[t];
    }
  }
  nn::embedding_backward(batch_->input_ids, d_words, gradient.word, padding);
}

ConstMatrix Encoder::layer(size_t layer) const {
  return layer > 0 ? layers_[layer - 1].output : embedding_;
}

void Encoder::backward(Matrix d_hidden, const ModelWeights& gradient, int32_t lowest,
                       const Turn& turn) {
  // The vectors of distances have depth 0, so a pass that trains them goes all the way.
  size_t bottom = 0;
  while (bottom < layers_.size() &&
         static_cast<int32_t>(config_.stored_layer(bottom)) + 1 < lowest) {
    ++bottom;
  }
  for (size_t l = layers_.size(); l-- > bottom;) block_backward(l, d_hidden, gradient, turn);
  if (lowest > 0) return;
  turn.reach(kEmbeddingStage);
  embed_backward(d_hidden, gradient);
  distances_.finish(weights_, gradient);
  if (gradient.position_bias.data) position_bias_.gather(gradient.position_bias);
}

}  // namespace bert::training
