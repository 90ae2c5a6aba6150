#pragma once

#include <bert/batch.h>
#include <bert/bert.h>

#include <vector>

namespace bert {
inline namespace v0 {

/// One vector per sequence by the model's own modules, as embed writes: [S, W]. The bare encoder
/// only.
inline Matrix sentence_vectors(Batch& batch) {
  bert_matrix out = {};
  check(bert_sentence_vectors(batch.c(), &out));
  return out;
}

/// Tokens [n, H] to one vector [H]: cls, mean, max, sum, mean_sqrt_len_tokens, weightedmean or
/// lasttoken.
inline std::vector<float> pool(const Matrix& tokens, const char* mode) {
  std::vector<float> out(tokens.cols());
  check(bert_pool(tokens.c(), mode, out.data()));
  return out;
}

/// Of vectors of the same length; NaN if they are not.
inline double cosine(Floats a, Floats b) {
  return bert_cosine(a.data(), a.size() == b.size() ? b.data() : nullptr, a.size());
}

}  // namespace v0
}  // namespace bert
