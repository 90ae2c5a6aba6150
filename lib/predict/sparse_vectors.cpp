#include "predict/sparse_vectors.h"

#include <algorithm>
#include <cmath>

namespace bert {
namespace {

/// The larger of two numbers, and NaN if one is NaN.
float larger(float a, float b) { return b > a || std::isnan(b) ? b : a; }

}  // namespace

void SparsePredictor::predict(const Sequences& sequences, size_t texts, const Use& use) {
  window_.assign(vocab_size_, 0.0f);
  text_.assign(vocab_size_, 0.0f);
  size_t text = 0, window = 0;  // whose tokens come in
  const auto end_text = [&] {
    end_window();
    use(text++, text_);
    std::fill(text_.begin(), text_.end(), 0.0f);
  };
  queries_.start([&](size_t sequence, std::span<const float> logits) {
    while (text < sequences.texts()[sequence]) end_text();
    if (window != sequence) end_window();
    window = sequence;
    add_token(logits);
  });
  ask_all(sequences);
  while (text < texts) end_text();
}

/// Asks for the logits of all tokens. They come a few rows at a time, and none are kept.
void SparsePredictor::ask_all(const Sequences& sequences) {
  for (size_t i = 0; i < sequences.size(); ++i) {
    const std::vector<int32_t>& ids = sequences[i].input_ids;
    if (ids.empty()) continue;
    wanted_.clear();
    for (size_t t = 0; t < ids.size(); ++t) wanted_.push_back({t, i});
    queries_.ask(ids, wanted_);
  }
  queries_.finish();
}

/// The weight of a logit above 0.
float SparsePredictor::weight(float logit) const {
  const float once = std::log1p(logit);
  return pooling_.log_twice ? std::log1p(once) : once;
}

/// A weight grows with its logit, so the maximum of the logits is enough.
void SparsePredictor::add_token(std::span<const float> logits) {
  if (!pooling_.sum) {
    for (size_t v = 0; v < logits.size(); ++v) window_[v] = larger(window_[v], logits[v]);
    return;
  }
  for (size_t v = 0; v < logits.size(); ++v) {
    if (!(logits[v] <= 0)) window_[v] += weight(logits[v]);
  }
}

void SparsePredictor::end_window() {
  for (size_t v = 0; v < window_.size(); ++v) {
    if (window_[v] == 0) continue;
    text_[v] = larger(text_[v], pooling_.sum ? window_[v] : weight(window_[v]));
    window_[v] = 0;
  }
}

}  // namespace bert
