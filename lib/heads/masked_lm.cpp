#include "heads/masked_lm.h"

#include <algorithm>

#include "ops/kernels.h"

namespace bert {

MaskedLM MaskedLM::open(const Model& model) {
  const Config& config = model.config();
  const Weights& weights = model.weights();
  require_head(config, weights, HeadKind::masked_lm);
  MaskedLM mlm;
  mlm.transform_ = weights.linear(config, Role::mlm_dense, model.precision());
  mlm.act_ = config.mlm_act();
  mlm.norm_weight_ = weights.floats(tensor_spec(config, Role::mlm_norm));
  mlm.norm_bias_ = weights.floats(tensor_spec(config, Role::mlm_norm, Part::bias));
  mlm.eps_ = config.layer_norm_eps;
  // Weights has already removed a decoder that is tied: if it finds one, that is the head's own.
  const bool own = weights.find(Role::mlm_decoder) || !config.tie_word_embeddings;
  const TensorSpec decoder = tensor_spec(config, own ? Role::mlm_decoder : Role::word_embeddings);
  mlm.decoder_ = weights.linear({&decoder.name, 1}, decoder.shape[0], decoder.shape[1],
                                weights.floats(tensor_spec(config, Role::mlm_bias, Part::bias)),
                                model.precision());
  return mlm;
}

Matrix MaskedLM::logits(ConstMatrix hidden, std::span<const size_t> positions,
                        Workspace& workspace) const {
  const Matrix rows = workspace.rows.matrix(positions.size(), hidden.cols);  // [M, H]
  for (size_t i = 0; i < positions.size(); ++i) {
    std::copy_n(hidden.row(positions[i]), hidden.cols, rows.row(i));
  }
  const Matrix transformed =
      workspace.rows2.matrix(positions.size(), transform_.out_features());  // [M, E]
  transform_(rows, transformed, act_, workspace.linear);
  layer_norm(transformed, norm_weight_, norm_bias_, eps_, transformed);
  const Matrix logits =
      workspace.logits.matrix(positions.size(), decoder_.out_features());  // [M, V]
  decoder_(transformed, logits, Activation::none, workspace.linear);
  return logits;
}

}  // namespace bert
