#include "encoder/embedding.h"

#include <algorithm>

#include "encoder/position_rows.h"

namespace bert {

Embedding Embedding::load(const Config& config, const Weights& weights, Precision precision) {
  const auto floats = [&](Role role) { return weights.floats(tensor_spec(config, role)); };
  Embedding e;
  e.word_ = weights.require(tensor_spec(config, Role::word_embeddings));
  if (has_module(config, Role::position_embeddings)) {
    e.position_ = floats(Role::position_embeddings);
    e.first_position_ = config.first_position();
  }
  if (has_module(config, Role::token_type_embeddings)) {
    e.token_type_ = floats(Role::token_type_embeddings);
  }
  e.norm_ = Norm::load(config, weights, Role::embedding_norm);
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

void Embedding::operator()(const PackedBatch& batch, Matrix output, Buffer& scratch,
                           LinearScratch& linear_scratch) const {
  const size_t width = word_.shape[1];
  // sum [T, E]
  const Matrix sum = projection_ ? scratch.matrix(batch.tokens(), width) : output;
  PositionRows rows(batch, first_position_);
  for (size_t t = 0; t < batch.tokens(); ++t) {
    float* row = sum.row(t);
    word_vector(batch.input_ids[t], {row, width});
    // The reference adds the token type first, then the position: the order decides the last bit.
    if (!token_type_.empty()) {
      const float* type = &token_type_[static_cast<size_t>(batch.token_type_ids[t]) * width];
      for (size_t i = 0; i < width; ++i) row[i] += type[i];
    }
    if (!position_.empty()) {
      const float* position = &position_[rows.next(t) * width];
      for (size_t i = 0; i < width; ++i) row[i] += position[i];
    }
  }
  if (projection_ && projects_first_) {
    projection_(sum, output, Activation::none, linear_scratch);
    norm_(output, output);
    return;
  }
  norm_(sum, sum);
  if (projection_) projection_(sum, output, Activation::none, linear_scratch);
}

}  // namespace bert
