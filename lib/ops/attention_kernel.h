#pragma once

#include <cstddef>
#include <span>

#include "ops/matrix.h"

namespace bert {

class Team;

/// softmax(Q K^T * scale) V for one head of one sequence (Vaswani et al. 2017, eq. 1), in blocks of
/// queries: only [32, n] scores exist at a time, which stay in cache.
///
///   q, k, v, out [n, D], each with its own stride     scratch: grown as needed, one per thread
///
/// A row of `out` depends only on the n rows of this sequence: its bits are the same whatever else
/// is in the batch.
void attention_head(ConstMatrix q, ConstMatrix k, ConstMatrix v, float scale, Matrix out,
                    Buffer& scratch);

/// attention_head for every head of every sequence, shared between the threads of `team` (nullptr:
/// this thread alone).
///
///   qkv [T, 3H], queries, keys and values of all heads side by side     out [T, H]
///   sequence s is rows [cu_seq_lens[s], cu_seq_lens[s + 1])
///   narrow: operands may be rounded to bf16, if the CPU multiplies bf16 faster
void attention(ConstMatrix qkv, std::span<const size_t> cu_seq_lens, size_t heads, float scale,
               Matrix out, Buffer& scratch, Team* team = nullptr, bool narrow = false);

/// What one head of one sequence has on the way to its output: the scores Q K^T * scale and their
/// softmax, the probabilities. Both [n, n]; the one without data is not kept.
void attention_head_weights(ConstMatrix q, ConstMatrix k, float scale, Matrix scores,
                            Matrix probabilities);

}  // namespace bert
