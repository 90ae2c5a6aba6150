#include "heads/token_classification.h"

namespace bert {

TokenClassifier TokenClassifier::open(const Model& model) {
  const Weights& weights = model.weights();
  require_head(model.config(), weights, HeadKind::tokens);
  TokenClassifier c;
  c.labels_ = model.config().labels;
  c.transform_ = HeadTransform::load(model.config(), weights);
  c.output_ = weights.linear(model.config(), Role::classifier, Precision::f32);
  return c;
}

Matrix TokenClassifier::logits(ConstMatrix hidden, Workspace& workspace) const {
  const Matrix logits = workspace.logits.matrix(hidden.rows, labels_.size());  // [T, labels]
  output_(transform_(hidden, workspace.rows, workspace.linear), logits, Activation::none,
          workspace.linear);
  return logits;
}

}  // namespace bert
