#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/matrix.h"

namespace bert {

class Team;

/// What is added to the scaled scores of one head of one sequence: to that of query i and key j,
/// first[i * step + j].
struct HeadBias {
  const float* first = nullptr;  ///< nullptr: nothing
  ptrdiff_t step = 0;
};

/// What is added to the scaled scores.
///
/// Thread rule: const; each thread brings its own scratch.
class AttentionBias {
 public:
  virtual ~AttentionBias() = default;
  /// Of one head, whose queries and keys are q, k [n, D]. The result may lie in `scratch`.
  virtual HeadBias of(size_t head, ConstMatrix q, ConstMatrix k, Buffer& scratch) const = 0;
};

/// A bias by distance alone, one number for each head and distance.
class DistanceBias : public AttentionBias {
 public:
  /// rows [heads, 2P - 1]: column P - 1 + d is for a key that stands d tokens behind the query; no
  /// sequence is longer than P.
  DistanceBias(std::vector<float> rows, size_t heads)
      : rows_(std::move(rows)), distances_(rows_.size() / heads) {}
  HeadBias of(size_t head, ConstMatrix q, ConstMatrix k, Buffer& scratch) const override;

 private:
  std::vector<float> rows_;
  size_t distances_;  ///< 2P - 1
};

/// How scores become attention.
struct AttentionForm {
  size_t heads = 1;
  float scale = 1;
  /// Heads of keys and values, K: heads / K heads of queries share each (Ainslie et al. 2023).
  /// 0: as many as there are of queries.
  size_t key_value_heads = 0;
  /// A query sees keys at most this many tokens before it (Beltagy et al. 2020), and behind it.
  size_t window = SIZE_MAX;
  size_t ahead = SIZE_MAX;  ///< 0: none behind it
  /// Operands may be rounded to bf16, if the CPU multiplies bf16 faster.
  bool narrow = false;
  const AttentionBias* bias = nullptr;

  /// K.
  size_t shared_heads() const { return key_value_heads > 0 ? key_value_heads : heads; }
  /// The first columns of head `head` of queries, and of its keys and values, where heads are
  /// `size` wide and all of a token lie side by side.
  size_t query_column(size_t head, size_t size) const { return head * size; }
  size_t key_column(size_t head, size_t size) const {
    return (heads + head / (heads / shared_heads())) * size;
  }
  size_t value_column(size_t head, size_t size) const {
    return key_column(head, size) + shared_heads() * size;
  }
  /// How many columns that makes: queries, keys and values of a token.
  size_t columns(size_t size) const { return (heads + 2 * shared_heads()) * size; }
};

/// Buffers of one thread, and of each thread of its team.
struct AttentionBuffers {
  Buffer heads;              ///< one head of one sequence in kernel order, for each thread
  std::vector<Buffer> bias;  ///< for each thread
};

/// softmax(Q K^T * scale + bias) V for every head of every sequence (Vaswani et al. 2017, eq. 1),
/// shared between the threads of `team` (nullptr: this thread alone). It works in blocks of
/// queries: only [32, n] scores exist at a time, which stay in cache.
///
///   qkv [T, (A + 2K) D], queries, keys and values of all heads side by side     out [T, A D]
///   sequence s is rows [cu_seq_lens[s], cu_seq_lens[s + 1])
///
/// A row of `out` depends only on the rows of its sequence: its bits are the same whatever else is
/// in the batch.
void attention(const AttentionForm& form, ConstMatrix qkv, std::span<const size_t> cu_seq_lens,
               Matrix out, AttentionBuffers& buffers, Team* team = nullptr);

/// What head `head` of one sequence has on the way to its output: the scores Q K^T * scale + bias
/// and their softmax, the probabilities. Both [n, n]; the one without data is not kept. What is
/// outside the window has the score -inf.
void attention_head_weights(const AttentionForm& form, size_t head, ConstMatrix q, ConstMatrix k,
                            Matrix scores, Matrix probabilities);

}  // namespace bert
