#include "heads/masked_lm.h"

#include <algorithm>

#include "base/error.h"
#include "ops/kernels.h"

namespace bert {

MaskedLM MaskedLM::open(const Model& model) {
  const Config& config = model.config();
  const Weights& weights = model.weights();
  const std::string head = "cls.predictions.";
  if (!weights.find(head + "transform.dense.weight")) {
    throw Error(
        Error::Kind::data, weights.path(),
        "no masked-LM head (cls.predictions) in this model; " + heads_that_work(config, weights));
  }
  const size_t width = config.embedding_size;  // E
  MaskedLM mlm;
  mlm.transform_ =
      weights.linear(head + "transform.dense", width, config.hidden_size, model.precision());
  mlm.act_ = config.mlm_act();
  mlm.norm_weight_ = weights.floats(head + "transform.LayerNorm.weight", {width});
  mlm.norm_bias_ = weights.floats(head + "transform.LayerNorm.bias", {width});
  mlm.eps_ = config.layer_norm_eps;
  // Weights has already removed a decoder that is tied: if it finds one, that is the head's own.
  const bool own = weights.find(head + "decoder.weight") || !config.tie_word_embeddings;
  const std::string decoder = own ? head + "decoder.weight" : "embeddings.word_embeddings.weight";
  mlm.decoder_ =
      weights.linear({&decoder, 1}, config.vocab_size, width,
                     weights.floats(head + "bias", {config.vocab_size}), model.precision());
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
