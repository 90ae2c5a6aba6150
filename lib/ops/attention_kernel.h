#pragma once

#include <cstddef>
#include <span>

#include "ops/matrix.h"

namespace bert {

class Team;

/// softmax(Q K^T * scale) V for one head of one sequence (Vaswani et al. 2017, eq. 1), in blocks
/// that stay in cache: the [n, n] scores are never written to memory.
///
///   q, k, v, out [n, D], each with its own stride     scratch: grown as needed, one per thread
///
/// Row i of `out` depends on the n rows of this sequence only and is bit-equal whatever n rows
/// surround it.
void attention_head(ConstMatrix q, ConstMatrix k, ConstMatrix v, float scale, Matrix out,
                    Buffer& scratch);

/// Every head of every sequence, shared between the threads of `team` (nullptr: this thread alone).
///
///   qkv [T, 3H], queries, keys and values of all heads side by side     out [T, H]
///   sequence s is rows [cu_seq_lens[s], cu_seq_lens[s + 1])
///   narrow: operands may be rounded to bf16, where the CPU multiplies those faster
void attention(ConstMatrix qkv, std::span<const size_t> cu_seq_lens, size_t heads, float scale,
               Matrix out, Buffer& scratch, Team* team = nullptr, bool narrow = false);

/// The same, and the probabilities [n, n] besides (for `attend` and for tests).
void attention_head_probabilities(ConstMatrix q, ConstMatrix k, float scale, Matrix probabilities);

}  // namespace bert
