#include "heads/attentive_pooling.h"

#include <algorithm>
#include <vector>

#include "nn/vector_loss.h"
#include "ops/kernels.h"

namespace bert {

AttentivePooling AttentivePooling::load(const Config& config, const Weights& weights) {
  AttentivePooling pooling;
  if (config.pooling.hops == 0) return pooling;
  pooling.hidden_ = weights.linear(config, Role::pooling_hidden, Precision::f32);
  pooling.hops_ = weights.linear(config, Role::pooling_hops, Precision::f32);
  pooling.unit_ = config.pooling.unit;
  return pooling;
}

void AttentivePooling::operator()(const PackedBatch& batch, ConstMatrix hidden, Matrix pooled,
                                  size_t skipped, LinearScratch& scratch) const {
  Buffer activated_rows, score_rows;
  const Matrix activated = activated_rows.matrix(hidden.rows, hidden_.out_features());
  hidden_(hidden, activated, Activation::tanh, scratch);
  const Matrix scores = score_rows.matrix(hidden.rows, hops());
  hops_(activated, scores, Activation::none, scratch);
  std::vector<float> weights;
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t n = batch.length(s), first = skipped < n ? skipped : 0;
    const size_t begin = batch.begin(s) + first;
    weights.resize(n - first);
    std::fill_n(pooled.row(s), pooled.cols, 0.f);
    for (size_t r = 0; r < hops(); ++r) {
      for (size_t t = 0; t < weights.size(); ++t) weights[t] = scores.row(begin + t)[r];
      softmax(weights);
      float* out = pooled.row(s) + r * hidden.cols;
      for (size_t t = 0; t < weights.size(); ++t) {
        const float* token = hidden.row(begin + t);
        for (size_t i = 0; i < hidden.cols; ++i) out[i] += weights[t] * token[i];
      }
    }
  }
  Buffer lengths;
  if (unit_) nn::unit_forward(pooled, pooled, lengths.matrix(pooled.rows, 1));
}

}  // namespace bert
