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
  if (has_module(config, Role::embedding_norm)) {
    e.norm_ = Norm::load(config, weights, Role::embedding_norm);
  }
  e.scale_ = config.embedding_scale;
  e.projects_first_ = config.family->projects_first;
  if (has_module(config, Role::embedding_projection)) {
    e.projection_ = weights.linear(config, Role::embedding_projection, precision);
  }
  return e;
}

bool Embedding::has_padding(const PackedBatch& batch) const {
  return first_position_ > 0 &&
         std::find(batch.input_ids.begin(), batch.input_ids.end(),
                   static_cast<int32_t>(first_position_) - 1) != batch.input_ids.end();
}

void Embedding::word_vector(int32_t id, std::span<float> out) const {
  word_.row(static_cast<size_t>(id), out);
}

void Embedding::add_up(int32_t id, size_t type, size_t position_row, float* out) const {
  const size_t width = word_.shape[1];
  word_vector(id, {out, width});
  if (scale_ != 1) {
    for (size_t i = 0; i < width; ++i) out[i] *= scale_;
  }
  // The reference adds the token type first, then the position: the order decides the last bit.
  if (!token_type_.empty()) {
    const float* vector = &token_type_[type * width];
    for (size_t i = 0; i < width; ++i) out[i] += vector[i];
  }
  if (!position_.empty()) {
    const float* vector = &position_[position_row * width];
    for (size_t i = 0; i < width; ++i) out[i] += vector[i];
  }
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
  const size_t width = word_.shape[1];
  // sum [T, E]
  const Matrix sum = projection_ ? scratch.matrix(batch.tokens(), width) : output;
  PositionRows rows(batch, first_position_);
  for (size_t t = 0; t < batch.tokens(); ++t) {
    const size_t type = token_type_.empty() ? 0 : static_cast<size_t>(batch.token_type_ids[t]);
    add_up(batch.input_ids[t], type, position_.empty() ? 0 : rows.next(t), sum.row(t));
  }
  finish(sum, output, linear_scratch);
}

void Embedding::at(std::span<const int32_t> ids, std::span<const size_t> positions, Matrix output,
                   Buffer& scratch, LinearScratch& linear_scratch) const {
  const Matrix sum = projection_ ? scratch.matrix(ids.size(), word_.shape[1]) : output;  // [T, E]
  for (size_t t = 0; t < ids.size(); ++t) {
    const bool padding = first_position_ > 0 && static_cast<size_t>(ids[t]) + 1 == first_position_;
    add_up(ids[t], 0, padding ? first_position_ - 1 : first_position_ + positions[t], sum.row(t));
  }
  finish(sum, output, linear_scratch);
}

}  // namespace bert
