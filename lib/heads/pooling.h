#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "ops/matrix.h"

namespace bert {

/// One vector from the n token vectors of a sequence (sentence-transformers' Pooling module; mean:
/// Reimers and Gurevych 2019). All tokens count, also [CLS] and [SEP].
enum class Pooling { cls, mean, max, sum, mean_sqrt_len_tokens, weightedmean, lasttoken };

/// Throws Error(usage) that names all modes if `name` is not one of them.
BERT_API Pooling pooling_from_name(std::string_view name);

/// tokens [n, H] -> out [H]. In weightedmean, token i has the weight i + 1. Pooling begins at token
/// `include_begin`, behind a prompt; cls is then that token, as in sentence-transformers.
BERT_API void pool(Pooling pooling, ConstMatrix tokens, std::span<float> out,
                   size_t include_begin = 0);

/// x = x / max(|x|, 1e-12), as torch's normalize.
BERT_API void normalize_l2(std::span<float> x);

/// Cosine of two vectors, computed in double.
BERT_API double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace bert
