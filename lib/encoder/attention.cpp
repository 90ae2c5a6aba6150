#include "encoder/attention.h"

#include <algorithm>
#include <cmath>

namespace bert {

AttentionWeights AttentionWeights::load(const Config& config, const Weights& weights, size_t layer,
                                        Precision precision, const AttentionBias* bias,
                                        const RelativePositions* positions) {
  AttentionWeights w;
  const Disentangled& d = config.disentangled;
  const size_t parts = 1 + d.content_to_position + d.position_to_content;
  w.qkv = weights.linear(config, kQueryKeyValue, precision, layer);
  w.form.heads = config.num_attention_heads;
  w.form.scale = 1.0f / std::sqrt(static_cast<float>(config.head_size() * parts));
  w.form.narrow = precision == Precision::bf16 || precision == Precision::int8;
  w.form.bias = bias;
  if (positions) {
    w.disentangled = std::make_unique<const DisentangledBias>(config, weights, layer, precision,
                                                              *positions, w.form.scale);
    w.form.bias = w.disentangled.get();
  }
  return w;
}

namespace {

/// The projections [T, 3H] of `hidden`, of each kind of row once. `rows` [T, H] is scratch.
void project_kinds(const Linear& qkv, const AlikeTokens& alike, ConstMatrix hidden, Matrix rows,
                   Matrix out, AttentionScratch& scratch, LinearScratch& linear_scratch) {
  const Matrix kinds = scratch.kinds.matrix(alike.first.size(), out.cols);  // [U, 3H]
  for (size_t u = 0; u < kinds.rows; ++u) {
    std::copy_n(hidden.row(alike.first[u]), hidden.cols, rows.row(u));
  }
  qkv(rows.slice(0, kinds.rows), kinds, Activation::none, linear_scratch);
  for (size_t t = 0; t < out.rows; ++t) {
    std::copy_n(kinds.row(alike.kind[t]), out.cols, out.row(t));
  }
}

constexpr TraceMask kOfHeads = Traced::query | Traced::key | Traced::value | Traced::scores |
                               Traced::probabilities | Traced::context;

/// Shows what is wanted of each head: qkv [T, 3H], context [T, H].
void show_heads(const AttentionWeights& weights, const PackedBatch& batch, ConstMatrix qkv,
                ConstMatrix context, AttentionScratch& scratch, const LayerTrace& trace) {
  const size_t heads = weights.form.heads;                       // A
  const size_t width = context.cols, head_size = width / heads;  // H, D
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), n = batch.length(s);
    for (size_t head = 0; head < heads; ++head) {
      if (!trace.wants_head(head)) continue;
      const auto show = [&](Traced what, ConstMatrix values) {
        trace.show({what, 0, values, s, head});
      };
      // The head's columns [n, D] of the part of qkv or context that begins at `column`.
      const auto part = [&](ConstMatrix matrix, size_t column) {
        return ConstMatrix(matrix.row(begin) + column + head * head_size, n, head_size,
                           matrix.stride);
      };
      const ConstMatrix q = part(qkv, 0), k = part(qkv, width);
      show(Traced::query, q);
      show(Traced::key, k);
      show(Traced::value, part(qkv, 2 * width));
      if (trace.wants(Traced::scores | Traced::probabilities)) {
        Matrix scores, probabilities;  // [n, n]
        if (trace.wants(Traced::scores)) scores = scratch.scores.matrix(n, n);
        if (trace.wants(Traced::probabilities)) probabilities = scratch.probabilities.matrix(n, n);
        attention_head_weights(weights.form, head, q, k, scores, probabilities);
        show(Traced::scores, scores);
        show(Traced::probabilities, probabilities);
      }
      show(Traced::context, part(context, 0));
    }
  }
}

/// context [T, H] without what the heads `off` put there.
void clear_heads(std::span<const size_t> off, size_t head_size, Matrix context) {
  for (const size_t head : off) {
    for (size_t t = 0; t < context.rows; ++t) {
      std::fill_n(context.row(t) + head * head_size, head_size, 0.0f);
    }
  }
}

}  // namespace

void self_attention(const AttentionWeights& weights, const PackedBatch& batch, ConstMatrix hidden,
                    Matrix context, AttentionScratch& scratch, LinearScratch& linear_scratch,
                    const LayerPass& pass) {
  const size_t width = hidden.cols;                                  // H
  const Matrix qkv = scratch.qkv.matrix(batch.tokens(), 3 * width);  // [T, 3H]
  if (pass.alike) {
    project_kinds(weights.qkv, *pass.alike, hidden, context, qkv, scratch, linear_scratch);
  } else {
    weights.qkv(hidden, qkv, Activation::none, linear_scratch);
  }
  if (weights.rotary.theta > 0) {
    rotate(weights.rotary, weights.form.heads, batch, qkv, scratch.turns, linear_scratch.team);
  }
  attention(weights.form, qkv, batch.cu_seq_lens, context, scratch.heads, linear_scratch.team);
  clear_heads(pass.off, width / weights.form.heads, context);
  if (pass.trace.wants(kOfHeads)) show_heads(weights, batch, qkv, context, scratch, pass.trace);
}

}  // namespace bert
