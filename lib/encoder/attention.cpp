#include "encoder/attention.h"

#include <algorithm>
#include <cmath>

namespace bert {

AttentionWeights AttentionWeights::load(const Config& config, const Weights& weights, size_t layer,
                                        Precision precision, const AttentionBias* bias,
                                        const RelativePositions* positions) {
  AttentionWeights w;
  const bool apart = has_module(config, Role::shared_bottleneck);
  w.qkv = weights.linear(config, std::span(kQueryKeyValue).first(apart ? 2 : 3), precision, layer);
  if (apart) w.values = weights.linear(config, Role::value, precision, layer);
  w.head_size = config.head_size();
  if (has_module(config, Role::query_norm)) {
    w.query_norm = Norm::load(config, weights, Role::query_norm, layer);
    w.key_norm = Norm::load(config, weights, Role::key_norm, layer);
  }
  w.form.heads = config.num_attention_heads;
  w.form.key_value_heads = config.num_key_value_heads;
  w.form.scale = 1.0f / std::sqrt(static_cast<float>(config.score_divisor()));
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

/// The projections [T, (A + 2K) D] of `hidden`, of each kind of row once.
void project_kinds(const Linear& qkv, const AlikeTokens& alike, ConstMatrix hidden, Matrix out,
                   AttentionScratch& scratch, LinearScratch& linear_scratch) {
  const Matrix kinds = scratch.kinds.matrix(alike.first.size(), out.cols);  // [U, (A + 2K) D]
  const Matrix rows = scratch.kind_rows.matrix(kinds.rows, hidden.cols);    // [U, H]
  for (size_t u = 0; u < kinds.rows; ++u) {
    std::copy_n(hidden.row(alike.first[u]), hidden.cols, rows.row(u));
  }
  qkv(rows, kinds, Activation::none, linear_scratch);
  for (size_t t = 0; t < out.rows; ++t) {
    std::copy_n(kinds.row(alike.kind[t]), out.cols, out.row(t));
  }
}

/// Norms queries and keys head by head: qkv [T, (A + 2K) D], in place.
void norm_heads(const AttentionWeights& weights, Matrix qkv) {
  const size_t size = weights.head_size, keys = weights.form.shared_heads();
  for (size_t t = 0; t < qkv.rows; ++t) {
    const Matrix q(qkv.row(t), weights.form.heads, size, size);                       // [A, D]
    const Matrix k(qkv.row(t) + weights.form.key_column(0, size), keys, size, size);  // [K, D]
    weights.query_norm(q, q);
    weights.key_norm(k, k);
  }
}

constexpr TraceMask kOfHeads = Traced::query | Traced::key | Traced::value | Traced::scores |
                               Traced::probabilities | Traced::context;

/// Shows what is wanted of each head: qkv [T, (A + 2K) D], context [T, A D].
void show_heads(const AttentionWeights& weights, const PackedBatch& batch, ConstMatrix qkv,
                ConstMatrix context, AttentionScratch& scratch, const LayerTrace& trace) {
  const size_t heads = weights.form.heads, head_size = weights.head_size;  // A, D
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), n = batch.length(s);
    for (size_t head = 0; head < heads; ++head) {
      if (!trace.wants_head(head)) continue;
      const auto show = [&](Traced what, ConstMatrix values) {
        trace.show({what, 0, values, s, head});
      };
      // The columns [n, D] of qkv or context from `column` on.
      const auto part = [&](ConstMatrix matrix, size_t column) {
        return ConstMatrix(matrix.row(begin) + column, n, head_size, matrix.stride);
      };
      const ConstMatrix q = part(qkv, weights.form.query_column(head, head_size));
      const ConstMatrix k = part(qkv, weights.form.key_column(head, head_size));
      show(Traced::query, q);
      show(Traced::key, k);
      show(Traced::value, part(qkv, weights.form.value_column(head, head_size)));
      if (trace.wants(Traced::scores | Traced::probabilities)) {
        Matrix scores, probabilities;  // [n, n]
        if (trace.wants(Traced::scores)) scores = scratch.scores.matrix(n, n);
        if (trace.wants(Traced::probabilities)) probabilities = scratch.probabilities.matrix(n, n);
        attention_head_weights(weights.form, head, q, k, scores, probabilities);
        show(Traced::scores, scores);
        show(Traced::probabilities, probabilities);
      }
      show(Traced::context, part(context, head * head_size));
    }
  }
}

/// context [T, A D] without what the heads `off` put there.
void clear_heads(std::span<const size_t> off, size_t head_size, Matrix context) {
  for (const size_t head : off) {
    for (size_t t = 0; t < context.rows; ++t) {
      std::fill_n(context.row(t) + head * head_size, head_size, 0.0f);
    }
  }
}

/// Hides the keys from `attended` on, in front of another bias or none.
class AttendedKeys : public AttentionBias {
 public:
  AttendedKeys(size_t attended, const AttentionBias* other) : attended_(attended), other_(other) {}
  HeadBias of(size_t head, ConstMatrix q, ConstMatrix k, Buffer& scratch) const override {
    constexpr float kHidden = -1e30f;  // far below any score; no NaN comes of it
    const size_t n = k.rows;
    if (!other_) {
      const Matrix row = scratch.matrix(1, n);  // the same for each query
      std::fill_n(row.data, attended_, 0.0f);
      std::fill_n(row.data + attended_, n - attended_, kHidden);
      return {row.data, 0};
    }
    Buffer own;
    const HeadBias bias = other_->of(head, q, k, own);
    const Matrix sum = scratch.matrix(n, n);
    for (size_t i = 0; i < n; ++i) {
      const float* from = bias.first + static_cast<ptrdiff_t>(i) * bias.step;
      std::copy_n(from, attended_, sum.row(i));
      std::fill_n(sum.row(i) + attended_, n - attended_, kHidden);
    }
    return {sum.data, static_cast<ptrdiff_t>(sum.stride)};
  }

 private:
  size_t attended_;
  const AttentionBias* other_;
};

/// Attention of each sequence by itself, over its first keys alone.
void attend_to_first(const AttentionForm& form, const PackedBatch& batch, ConstMatrix qkv,
                     Matrix context, AttentionScratch& scratch, Team* team) {
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const AttendedKeys bias(batch.attended[s], form.bias);
    AttentionForm masked = form;
    masked.bias = &bias;
    const size_t ends[] = {0, batch.length(s)};
    attention(masked, qkv.slice(batch.begin(s), batch.length(s)), ends,
              context.slice(batch.begin(s), batch.length(s)), scratch.heads, team);
  }
}

}  // namespace

void self_attention(const AttentionWeights& weights, const PackedBatch& batch, ConstMatrix hidden,
                    Matrix context, AttentionScratch& scratch, LinearScratch& linear_scratch,
                    const LayerPass& pass) {
  const AttentionForm& form = weights.form;
  const Matrix qkv =
      scratch.qkv.matrix(batch.tokens(), form.columns(weights.head_size));  // [T, (A + 2K) D]
  if (pass.alike) {
    project_kinds(weights.qkv, *pass.alike, hidden, qkv, scratch, linear_scratch);
  } else {
    weights.qkv(hidden, columns(qkv, 0, weights.qkv.out_features()), Activation::none,
                linear_scratch);
  }
  if (weights.values) {
    const Matrix v = columns(qkv, weights.qkv.out_features(), weights.values.out_features());
    weights.values(pass.values, v, Activation::none, linear_scratch);
  }
  if (weights.query_norm) norm_heads(weights, qkv);
  if (weights.rotary.theta > 0) {
    const HeadColumns turned{form.heads + form.shared_heads(), weights.head_size};
    rotate(weights.rotary, turned, batch, qkv, scratch.turns, linear_scratch.team);
  }
  if (batch.attended.empty()) {
    attention(form, qkv, batch.cu_seq_lens, context, scratch.heads, linear_scratch.team);
  } else {
    attend_to_first(form, batch, qkv, context, scratch, linear_scratch.team);
  }
  clear_heads(pass.off, weights.head_size, context);
  if (pass.trace.wants(kOfHeads)) show_heads(weights, batch, qkv, context, scratch, pass.trace);
}

}  // namespace bert
