#include "encoder/embedding.h"

#include <algorithm>

#include "encoder/position_rows.h"
#include "encoder/position_waves.h"

namespace bert {

Embedding Embedding::load(const Config& config, const Weights& weights, Precision precision) {
  const auto floats = [&](Role role) { return weights.floats(tensor_spec(config, role)); };
  Embedding e;
  e.word_ = weights.require(tensor_spec(config, Role::word_embeddings));
  if (has_module(config, Role::position_embeddings)) {
    const bool waves = config.family->positions == Positions::waves;
    const bool stored = !waves || weights.find(Role::position_embeddings);
    e.position_ = stored ? floats(Role::position_embeddings)
                         : position_waves(config.max_position_embeddings, config.embedding_size);
    e.first_position_ = config.first_position();
  }
  if (has_module(config, Role::token_type_embeddings)) {
    e.token_type_ = floats(Role::token_type_embeddings);
  }
  if (has_module(config, Role::task_type_embeddings)) {
    e.task_type_ = floats(Role::task_type_embeddings);
    e.task_type_.resize(config.embedding_size);
  }
  if (has_module(config, Role::embedding_norm)) {
    e.norm_ = Norm::load(config, weights, Role::embedding_norm);
  }
  e.scale_ = config.embedding_scale;
  if (config.token_dropout) e.dropped_ = config.mask_token_id;
  e.projects_first_ = config.family->projects_first;
  e.trigrams_ = config.family->trigrams;
  if (has_module(config, Role::embedding_projection)) {
    e.projection_ = weights.linear(config, Role::embedding_projection, precision);
  }
  return e;
}

bool Embedding::is_plain(const PackedBatch& batch) const {
  const auto has = [&](int32_t id) {
    return std::find(batch.input_ids.begin(), batch.input_ids.end(), id) != batch.input_ids.end();
  };
  const bool shifts = first_position_ > 0 && has(static_cast<int32_t>(first_position_) - 1);
  return !trigrams_ && !shifts && !(dropped_ >= 0 && has(dropped_));
}

float dropped_words_scale(std::span<const int32_t> ids, int32_t mask) {
  constexpr float kTrained = 0.15f * 0.8f;  // the share of masks in training
  const auto masks = static_cast<float>(std::count(ids.begin(), ids.end(), mask));
  return (1 - kTrained) / (1 - masks / static_cast<float>(ids.size()));
}

float Embedding::scale_of(std::span<const int32_t> ids) const {
  return dropped_ < 0 ? scale_ : dropped_words_scale(ids, dropped_);
}

void Embedding::word_vector(int32_t id, std::span<float> out) const {
  word_.row(static_cast<size_t>(id), out);
}

void Embedding::add_up(int32_t id, size_t type, size_t position_row, float scale,
                       float* out) const {
  const size_t width = word_.shape[1];
  word_vector(id, {out, width});
  if (id == dropped_ && dropped_ >= 0) {
    std::fill_n(out, width, 0.0f);
  } else if (scale != 1) {
    for (size_t i = 0; i < width; ++i) out[i] *= scale;
  }
  // The reference adds the token type first, then the position: the order decides the last bit.
  add_places(type, position_row, width, out);
  for (size_t i = 0; i < task_type_.size(); ++i) out[i] += task_type_[i];
}

void Embedding::add_places(size_t type, size_t position_row, size_t width, float* out) const {
  if (!token_type_.empty()) {
    const float* vector = &token_type_[type * width];
    for (size_t i = 0; i < width; ++i) out[i] += vector[i];
  }
  if (!position_.empty()) {
    const float* vector = &position_[position_row * width];
    for (size_t i = 0; i < width; ++i) out[i] += vector[i];
  }
}

void Embedding::trigrams(const PackedBatch& batch, Matrix output, Buffer& scratch,
                         LinearScratch& linear_scratch) const {
  const size_t width = word_.shape[1];                             // E
  const Matrix words = scratch.matrix(batch.tokens(), 3 * width);  // [T, 3E]: next, own, last
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), end = batch.cu_seq_lens[s + 1];
    for (size_t t = begin; t < end; ++t) {
      float* row = words.row(t);
      std::fill_n(row, words.cols, 0.0f);
      if (t + 1 < end) word_vector(batch.input_ids[t + 1], {row, width});
      word_vector(batch.input_ids[t], {row + width, width});
      if (t > begin) word_vector(batch.input_ids[t - 1], {row + 2 * width, width});
    }
  }
  projection_(words, output, Activation::none, linear_scratch);
  PositionRows rows(batch, first_position_);
  for (size_t t = 0; t < batch.tokens(); ++t) {
    const auto type = static_cast<size_t>(batch.token_type_ids[t]);
    add_places(type, rows.next(t), output.cols, output.row(t));
  }
  norm_(output, output);
}

void Embedding::finish(Matrix sum, Matrix output, LinearScratch& linear_scratch) const {
  if (projection_ && projects_first_) {
    projection_(sum, output, Activation::none, linear_scratch);
    norm_(output, output);
    return;
  }
  if (norm_) norm_(sum, sum);
  if (projection_) projection_(sum, output, Activation::none, linear_scratch);
}

void Embedding::operator()(const PackedBatch& batch, Matrix output, Buffer& scratch,
                           LinearScratch& linear_scratch) const {
  if (trigrams_) return trigrams(batch, output, scratch, linear_scratch);
  const size_t width = word_.shape[1];
  // sum [T, E]
  const Matrix sum = projection_ ? scratch.matrix(batch.tokens(), width) : output;
  PositionRows rows(batch, first_position_);
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const float scale =
        scale_of(std::span(batch.input_ids).subspan(batch.begin(s), batch.length(s)));
    for (size_t t = batch.begin(s); t < batch.cu_seq_lens[s + 1]; ++t) {
      const size_t type = token_type_.empty() ? 0 : static_cast<size_t>(batch.token_type_ids[t]);
      add_up(batch.input_ids[t], type, position_.empty() ? 0 : rows.next(t), scale, sum.row(t));
    }
  }
  finish(sum, output, linear_scratch);
}

void Embedding::at(std::span<const int32_t> ids, std::span<const size_t> positions, Matrix output,
                   Buffer& scratch, LinearScratch& linear_scratch) const {
  const Matrix sum = projection_ ? scratch.matrix(ids.size(), word_.shape[1]) : output;  // [T, E]
  for (size_t t = 0; t < ids.size(); ++t) {
    const bool padding = first_position_ > 0 && static_cast<size_t>(ids[t]) + 1 == first_position_;
    add_up(ids[t], 0, padding ? first_position_ - 1 : first_position_ + positions[t], scale_,
           sum.row(t));
  }
  finish(sum, output, linear_scratch);
}

}  // namespace bert
