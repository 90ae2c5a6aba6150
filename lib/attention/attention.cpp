#include "attention/attention.h"

#include <array>
#include <cmath>

#include "ops/attention_kernel.h"

namespace bert {

AttentionWeights AttentionWeights::load(const Config& config, const Weights& weights,
                                        const std::string& prefix, Precision precision) {
  const size_t width = config.hidden_size;
  std::vector<std::string> matrices;
  std::vector<float> bias;
  for (const char* name : {"query", "key", "value"}) {
    matrices.push_back(prefix + name + ".weight");
    const std::vector<float> b = weights.floats(prefix + name + ".bias", {width});
    bias.insert(bias.end(), b.begin(), b.end());
  }
  return {weights.linear(matrices, width, width, std::move(bias), precision),
          config.num_attention_heads};
}

void self_attention(const AttentionWeights& weights, const PackedBatch& batch, ConstMatrix hidden,
                    Matrix context, AttentionScratch& scratch, LinearScratch& linear_scratch,
                    const AttentionObserver* observer) {
  const size_t width = hidden.cols;                              // H
  const size_t head_size = width / weights.num_attention_heads;  // D
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_size));

  const Matrix qkv = scratch.qkv.matrix(batch.tokens(), 3 * width);  // [T, 3H]
  weights.qkv(hidden, qkv, Activation::none, linear_scratch);

  attention(qkv, batch.cu_seq_lens, weights.num_attention_heads, scale, context, scratch.head,
            linear_scratch.team);
  if (!observer) return;

  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), n = batch.length(s);
    for (size_t head = 0; head < weights.num_attention_heads; ++head) {
      // Strided views [n, D] into the packed projections.
      const float* base = qkv.row(begin) + head * head_size;
      const ConstMatrix q(base, n, head_size, qkv.stride);
      const ConstMatrix k(base + width, n, head_size, qkv.stride);
      const Matrix probabilities = scratch.probabilities.matrix(n, n);
      attention_head_probabilities(q, k, scale, probabilities);
      (*observer)(s, head, probabilities);
    }
  }
}

}  // namespace bert
