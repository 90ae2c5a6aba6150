#include "predict/vectors.h"

#include <algorithm>
#include <cmath>

namespace bert {

bool is_finite(std::span<const float> vector) {
  return std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); });
}

VectorScratch::VectorScratch(const VectorPredictor& predictor, const ReadOptions& reading,
                             Batcher& batcher)
    : prompt_bytes_(reading.prompt.size()), batcher_(batcher) {
  if (reading.prompt.empty()) return;
  Encoding tokens;
  Tokenizer::Scratch scratch;
  predictor.tokenizer().encode(reading.prompt, reading.encode, tokens, scratch);
  prompt_tokens_ = tokens.size() - predictor.tokenizer().frame().after.size();
}

Matrix VectorPredictor::predict(const Sequences& sequences, size_t texts,
                                VectorScratch& scratch) const {
  const Matrix pooled = scratch.pooled_.zeros(texts, plan_.pooled_width());
  if (fixed_ != nullptr) {
    pool_static(sequences, pooled, scratch);
  } else {
    pool_windows(sequences, pooled, scratch);
  }
  Matrix vectors = finish(pooled, scratch);
  for (size_t i = 1; vectors.stride > vectors.cols && i < vectors.rows; ++i) {
    std::copy_n(vectors.row(i), vectors.cols, vectors.data + i * vectors.cols);
  }
  vectors.stride = vectors.cols;
  return vectors;
}

Matrix VectorPredictor::finish(Matrix pooled, VectorScratch& scratch) const {
  return plan_.finish(
      dense_.apply(pooled, scratch.first_, scratch.second_, scratch.batcher_.workspace().linear),
      scratch.whitened_);
}

void VectorPredictor::for_each_batch(const Sequences& sequences, VectorScratch& scratch,
                                     const UseStates& use) const {
  if (fixed_ != nullptr) return for_each_static(sequences, scratch, use);
  ForwardOptions options;
  options.last_layer = plan_.layers.last_layer();
  if (!plan_.layers.is_static()) {
    options.trace.request = Traced::hidden;
    options.trace.layers = plan_.layers.layers;
    options.trace.show = [&](const TraceView& view) {
      plan_.layers.add(view.layer, view.values,
                       scratch.states_.matrix(view.values.rows, plan_.state_width()));
    };
  }
  scratch.batcher_.run(
      *model_, sequences.encodings(),
      [&](size_t first, const PackedBatch& batch, Matrix hidden) {
        Matrix states = scratch.states_.matrix(batch.tokens(), plan_.state_width());
        if (plan_.layers.is_static()) fill_static(batch, states);
        if (!tokens_.empty()) {
          states = tokens_.apply(states, scratch.tokens_, scratch.more_tokens_,
                                 scratch.batcher_.workspace().linear, &batch);
        }
        use(first, batch, hidden, states);
      },
      options);
}

/// What no layer is needed for: the static word vectors, or one-hot rows.
void VectorPredictor::fill_static(const PackedBatch& batch, Matrix states) const {
  const bool one_hot = plan_.layers.combine == LayerExpression::Combine::one_hot;
  for (size_t t = 0; t < batch.tokens(); ++t) {
    const std::span<float> row(states.row(t), states.cols);
    if (one_hot) {
      std::fill(row.begin(), row.end(), 0.0f);
      row[static_cast<size_t>(batch.input_ids[t])] = 1;
    } else {
      model_->word_vector(batch.input_ids[t], row);
    }
  }
}

void VectorPredictor::for_each_static(const Sequences& sequences, VectorScratch& scratch,
                                      const UseStates& use) const {
  scratch.batcher_.pack(sequences.encodings(), [&](size_t first, const PackedBatch& batch) {
    const Matrix states = scratch.states_.matrix(batch.tokens(), plan_.features);
    for (size_t t = 0; t < states.rows; ++t) {
      fixed_->vectors.vector(batch.input_ids[t], {states.row(t), states.cols});
    }
    use(first, batch, Matrix(), states);
  });
}

/// Static vectors need no layers, and no batches.
void VectorPredictor::pool_static(const Sequences& sequences, Matrix pooled,
                                  VectorScratch& scratch) const {
  for (size_t i = 0; i < sequences.size(); ++i) {
    fixed_->vectors.mean(sequences[i].input_ids, fixed_->left_out,
                         {pooled.row(sequences.texts()[i]), pooled.cols}, scratch.one_);
  }
}

/// How many tokens of a window are pooled; never 0, so that a text without tokens has a weight.
size_t VectorPredictor::pooled_tokens(size_t tokens) const {
  return plan_.no_special ? std::max<size_t>(tokens - tokenizer_.frame().added(), 1) : tokens;
}

/// The vectors of all sequences of a batch [S, pooled_width()], of a pooling that needs no states
/// of tokens; empty: it needs them.
Matrix VectorPredictor::pool_whole(const PackedBatch& batch, Matrix hidden,
                                   VectorScratch& scratch) const {
  Workspace& workspace = scratch.batcher_.workspace();
  if (plan_.pooler) return model_->pooled_output(batch, hidden, workspace);
  if (!plan_.attentive) return {};
  const Matrix whole = workspace.pooled.matrix(batch.sequences(), plan_.pooled_width());
  (*plan_.attentive)(batch, hidden, whole, plan_.prompt_is_pooled ? 0 : scratch.prompt_tokens(),
                     workspace.linear);
  return whole;
}

/// pooled [texts, pooled_width()], which is zeros.
void VectorPredictor::pool_windows(const Sequences& sequences, Matrix pooled,
                                   VectorScratch& scratch) const {
  const std::span<const size_t> texts = sequences.texts();
  std::vector<size_t> tokens_of(pooled.rows, 0);
  for (size_t i = 0; i < sequences.size(); ++i) {
    tokens_of[texts[i]] += pooled_tokens(sequences[i].size());
  }
  std::vector<float>& one = scratch.one_;
  one.resize(pooled.cols);
  for_each_batch(sequences, scratch,
                 [&](size_t first, const PackedBatch& batch, Matrix hidden, ConstMatrix states) {
                   const Matrix whole = pool_whole(batch, hidden, scratch);
                   for (size_t s = 0; s < batch.sequences(); ++s) {
                     if (whole.data != nullptr) {
                       std::copy_n(whole.row(s), pooled.cols, one.data());
                     } else {
                       plan_.pool_sequence(states.slice(batch.begin(s), batch.length(s)),
                                           scratch.prompt_tokens(), tokenizer_.frame(), one);
                     }
                     // A text in one window has weight 1 and keeps its bits.
                     const size_t text = texts[first + s];
                     const float weight = static_cast<float>(pooled_tokens(batch.length(s))) /
                                          static_cast<float>(tokens_of[text]);
                     float* out = pooled.row(text);
                     for (size_t i = 0; i < pooled.cols; ++i) out[i] += weight * one[i];
                   }
                 });
}

}  // namespace bert
