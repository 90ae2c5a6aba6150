#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "ops/matrix.h"

namespace bert {

/// One vector from the n token vectors of a sequence (sentence-transformers' Pooling module; mean:
/// Reimers and Gurevych 2019). All tokens count, [CLS] and [SEP] included.
enum class Pooling { cls, mean, max, sum, mean_sqrt_len_tokens, weightedmean, lasttoken };

/// nullopt-like: throws Error(usage) that names the nearest mode.
BERT_API Pooling pooling_from_name(std::string_view name);

/// tokens [n, H] -> out [H]. weightedmean weighs token i by i + 1. `include_begin` leaves out the
/// first tokens (a prompt): cls is then the first token after them, as in sentence-transformers.
BERT_API void pool(Pooling pooling, ConstMatrix tokens, std::span<float> out,
                   size_t include_begin = 0);

/// x / max(|x|, 1e-12), as torch's normalize.
BERT_API void normalize_l2(std::span<float> x);

/// Cosine of two vectors, computed in double.
BERT_API double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace bert
