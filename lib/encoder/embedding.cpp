#include "encoder/embedding.h"

#include "ops/kernels.h"

namespace bert {

Embedding Embedding::load(const Config& config, const Weights& weights, Precision precision) {
  const auto floats = [&](Role role, Part part = Part::weight) {
    return weights.floats(tensor_spec(config, role, part));
  };
  Embedding e;
  e.word_ = weights.require(tensor_spec(config, Role::word_embeddings));
  e.position_ = floats(Role::position_embeddings);
  if (has_module(config, Role::token_type_embeddings)) {
    e.token_type_ = floats(Role::token_type_embeddings);
  }
  e.norm_weight_ = floats(Role::embedding_norm);
  e.norm_bias_ = floats(Role::embedding_norm, Part::bias);
  e.eps_ = config.layer_norm_eps;
  if (has_module(config, Role::embedding_projection)) {
    e.projection_ = weights.linear(config, Role::embedding_projection, precision);
  }
  return e;
}

void Embedding::word_vector(int32_t id, std::span<float> out) const {
  word_.row(static_cast<size_t>(id), out);
}

void Embedding::operator()(const PackedBatch& batch, Matrix output, Buffer& scratch,
                           LinearScratch& linear_scratch) const {
  const size_t width = word_.shape[1];
  // sum [T, E]
  const Matrix sum = projection_ ? scratch.matrix(batch.tokens(), width) : output;
  for (size_t t = 0; t < batch.tokens(); ++t) {
    float* row = sum.row(t);
    word_vector(batch.input_ids[t], {row, width});
    const float* position = &position_[static_cast<size_t>(batch.position_ids[t]) * width];
    // The reference adds the token type first, then the position: the order decides the last bit.
    if (!token_type_.empty()) {
      const float* type = &token_type_[static_cast<size_t>(batch.token_type_ids[t]) * width];
      for (size_t i = 0; i < width; ++i) row[i] = (row[i] + type[i]) + position[i];
    } else {
      for (size_t i = 0; i < width; ++i) row[i] += position[i];
    }
  }
  layer_norm(sum, norm_weight_, norm_bias_, eps_, sum);
  if (projection_) projection_(sum, output, Activation::none, linear_scratch);
}

}  // namespace bert
