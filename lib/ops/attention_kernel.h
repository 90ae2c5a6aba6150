#pragma once

#include <cstddef>
#include <span>

#include "ops/matrix.h"

namespace bert {

class Team;

/// softmax(Q K^T * scale) V for every head of every sequence (Vaswani et al. 2017, eq. 1), shared
/// between the threads of `team` (nullptr: this thread alone). It works in blocks of queries: only
/// [32, n] scores exist at a time, which stay in cache.
///
///   qkv [T, 3H], queries, keys and values of all heads side by side     out [T, H]
///   sequence s is rows [cu_seq_lens[s], cu_seq_lens[s + 1])
///   narrow: operands may be rounded to bf16, if the CPU multiplies bf16 faster
///   bias [heads, 2P - 1] or none: bias(h, P - 1 + j - i) is added to the scaled score of query i
///   and key j in head h; no sequence is longer than P
///
/// A row of `out` depends only on the rows of its sequence: its bits are the same whatever else is
/// in the batch.
void attention(ConstMatrix qkv, std::span<const size_t> cu_seq_lens, size_t heads, float scale,
               Matrix out, Buffer& scratch, Team* team = nullptr, bool narrow = false,
               ConstMatrix bias = {});

/// The biases [2n - 1] of a sequence of n tokens in a row [2P - 1] of that matrix; nullptr: none.
const float* bias_of(ConstMatrix bias, size_t head, size_t n);

/// What one head of one sequence has on the way to its output: the scores Q K^T * scale + bias and
/// their softmax, the probabilities. Both [n, n]; the one without data is not kept. `bias` is that
/// of bias_of().
void attention_head_weights(ConstMatrix q, ConstMatrix k, float scale, Matrix scores,
                            Matrix probabilities, const float* bias = nullptr);

}  // namespace bert
