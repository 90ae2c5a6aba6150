#include "predict/cross_encoder.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace bert {

bool saves_sigmoid(const Model& model) {
  return torch_activation(model.config().score_function) == Activation::sigmoid;
}

void CrossEncoder::check() const {
  if (head_.labels().size() == 1) return;
  throw Error(Error::Kind::unsupported, head_.config_path(),
              fmt::format("a classifier with {} labels, wants a cross-encoder, which has one "
                          "output; classify gives each label its score",
                          head_.labels().size()));
}

void CrossEncoder::predict(const Sequences& sequences, size_t texts, Batcher& batcher,
                           std::vector<double>& scores) const {
  scores.assign(texts, -std::numeric_limits<double>::infinity());
  batcher.run(model_, sequences.encodings(),
              [&](size_t first, const PackedBatch& batch, Matrix hidden) {
                const Matrix logits = head_.logits(batch, hidden, batcher.workspace());  // [S, 1]
                for (size_t s = 0; s < logits.rows; ++s) {
                  const auto logit = static_cast<double>(*logits.row(s));
                  double& score = scores[sequences.texts()[first + s]];
                  if (!(logit <= score)) score = logit;  // NaN too
                }
              });
  if (!sigmoid_) return;
  // In double, so that only a logit above 36 becomes 1.
  for (double& score : scores) score = 1 / (1 + std::exp(-score));
}

}  // namespace bert
