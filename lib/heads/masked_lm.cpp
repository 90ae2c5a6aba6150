#include "heads/masked_lm.h"

#include <algorithm>
#include <utility>

#include "directory/readers.h"
#include "ops/transposed.h"

namespace bert {

TensorSpec decoder_spec(const Config& config, const Weights& weights) {
  // Weights has already removed a decoder that is tied: if it finds one, that is the head's own.
  const bool own = weights.find(Role::mlm_decoder) || !config.tie_word_embeddings;
  return tensor_spec(config, own ? Role::mlm_decoder : Role::word_embeddings);
}

MaskedLM MaskedLM::open(const Model& model) {
  const Config& config = model.config();
  const Weights& weights = model.weights();
  require_head(model.directory(), config, weights, HeadKind::masked_lm);
  MaskedLM mlm;
  mlm.transform_ = HeadTransform::load_mlm(config, weights, model.precision());
  const TensorSpec decoder = decoder_spec(config, weights);
  std::vector<float> bias;
  if (has_part(config, Role::mlm_bias, Part::bias)) {
    bias = weights.floats(tensor_spec(config, Role::mlm_bias, Part::bias));
  }
  mlm.decoder_ = weights.linear({&decoder, 1}, std::move(bias), model.precision());
  if (!has_module(config, Role::mlm_rest)) return mlm;
  const TensorSpec rest = tensor_spec(config, Role::mlm_rest);  // [H - E, V]
  mlm.rest_weight_ = transposed(weights.floats(rest), rest.shape[0]);
  mlm.rest_ = Linear({reinterpret_cast<const std::byte*>(mlm.rest_weight_.data()), DType::f32,
                      rest.shape[1], rest.shape[0]},
                     {}, model.precision());
  return mlm;
}

Matrix MaskedLM::logits(ConstMatrix hidden, std::span<const size_t> positions,
                        Workspace& workspace) const {
  const Matrix rows = workspace.rows.matrix(positions.size(), hidden.cols);  // [M, H]
  for (size_t i = 0; i < positions.size(); ++i) {
    std::copy_n(hidden.row(positions[i]), hidden.cols, rows.row(i));
  }
  const ConstMatrix transformed = transform_(rows, workspace.rows2, workspace.linear);  // [M, E]
  const Matrix logits =
      workspace.logits.matrix(positions.size(), decoder_.out_features());  // [M, V]
  const size_t width = decoder_.in_features();
  decoder_(columns(transformed, 0, width), logits, Activation::none, workspace.linear);
  if (!rest_) return logits;
  const ConstMatrix rest = columns(transformed, width, rest_.in_features());  // [M, H - E]
  rest_(rest, logits, Activation::none, workspace.linear, logits);
  return logits;
}

}  // namespace bert
