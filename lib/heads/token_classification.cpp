#include "heads/token_classification.h"

#include <algorithm>

#include "base/error.h"

namespace bert {
namespace {

/// Whether `classifier` is for tokens. If config.json does not tell, it is if there is no pooler.
bool is_token_classifier(const Model& model) {
  const std::vector<std::string>& names = model.config().architectures;
  const auto any_for = [&](const char* task) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.ends_with(task); });
  };
  if (any_for("ForTokenClassification")) return true;
  return !any_for("ForSequenceClassification") && !any_for("ForMultipleChoice") &&
         !model.has_pooler();
}

}  // namespace

TokenClassifier TokenClassifier::open(const Model& model) {
  const Weights& weights = model.weights();
  if (!weights.find("classifier.weight") || !is_token_classifier(model)) {
    throw Error(Error::Kind::data, weights.path(),
                "no token classification head (classifier without a pooler) in this model; " +
                    heads_that_work(model.config(), weights));
  }
  TokenClassifier c;
  c.labels_ = model.config().labels;
  c.output_ =
      weights.linear("classifier", c.labels_.size(), model.config().hidden_size, Precision::f32);
  return c;
}

Matrix TokenClassifier::logits(ConstMatrix hidden, Workspace& workspace) const {
  const Matrix logits = workspace.logits.matrix(hidden.rows, labels_.size());  // [T, labels]
  output_(hidden, logits, Activation::none, workspace.linear);
  return logits;
}

}  // namespace bert
