#pragma once

#include <functional>
#include <span>
#include <vector>

#include "attention_pool/pool_parameters.h"
#include "base/team.h"
#include "nn/positions.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// What a query goes through, head by head; `output` is all heads side by side, times W_o.
enum class PoolStage { score, divided, softmax, weighted, sum, output };

/// Attention of any queries over one set of keys and values: for each head,
/// softmax(score(q, k)) V (Vaswani et al. 2017, 3.2). Keys and values are put in kernel order once;
/// queries come in blocks of any size.
///
///   keys [m, Dk]   values [m, Dv]   queries [n, Dq]   output [n, O]
///
/// The bits of an output row depend on its query and its number only, with `causal` not even on
/// keys behind it: not on the block, on the threads or on other queries.
///
/// Thread rule: const after construction; run() may be called in many threads, each with a Scratch.
class AttentionPool {
 public:
  struct Scratch {
    Team* team = nullptr;  ///< the threads that share a block; nullptr: this thread alone
    Buffer input, queries, scores, sums, mixed, weighted;
    std::vector<nn::ScoreBuffers> score;  ///< buffers of each thread
    LinearScratch linear;
  };
  /// Gets the numbers of a stage: of `weighted` [m, Dv / heads] and only if the block is one query,
  /// else a row for each query. `divided` comes for scaled_dot only.
  using Show = std::function<void(PoolStage stage, size_t head, ConstMatrix numbers)>;

  /// keys and values must outlive the pool. If values.data is keys.data, the values are the keys.
  /// `threads` put them in order. Throws as PoolSizes::of.
  AttentionPool(const PoolForm& form, PoolParameters parameters, ConstMatrix keys,
                ConstMatrix values, const PoolNames& names, int threads);

  AttentionPool(const AttentionPool&) = delete;
  AttentionPool& operator=(const AttentionPool&) = delete;

  const PoolForm& form() const { return form_; }
  const PoolSizes& sizes() const { return sizes_; }
  const PoolNames& names() const { return names_; }
  size_t keys() const { return rows_; }                                   ///< m
  bool has_output_weights() const { return static_cast<bool>(output_); }  ///< W_o
  /// What the columns of queries must fit, for messages.
  std::string queries_fit() const;

  /// @param first  number of the first query among all, from 0: its position, what causal hides
  /// @param out  [n, O]; without data the sums are not computed
  void run(ConstMatrix queries, size_t first, Matrix out, Scratch& scratch,
           const Show& show = {}) const;
  /// The output [O] for weights [m] that are given, the same in each head.
  void mix(std::span<const float> weights, std::span<float> out, Scratch& scratch) const;

 private:
  void prepare_rows(ConstMatrix keys, ConstMatrix values, const PoolWeights& weights, Team& team);
  void pack_keys(Team& team);
  void pack_values(Team& team);
  size_t value_panels() const;
  size_t seen(size_t query) const;
  ConstMatrix project_queries(ConstMatrix queries, size_t first, Scratch& scratch) const;
  void score(size_t head, ConstMatrix queries, size_t seen, Matrix scores, Scratch& scratch) const;
  void score_chunk(size_t head, size_t chunk, ConstMatrix queries, Matrix scores,
                   nn::ScoreBuffers& buffers) const;
  void normalise(size_t first, Matrix scores) const;
  void sum(size_t head, ConstMatrix weights, size_t seen, Matrix mixed, Scratch& scratch) const;
  void finish(ConstMatrix mixed, Matrix out, Scratch& scratch) const;
  void show_weighted(size_t head, ConstMatrix weights, Scratch& scratch, const Show& show) const;

  PoolForm form_;
  PoolParameters parameters_;
  PoolNames names_;
  size_t rows_;  ///< m
  PoolSizes sizes_;
  std::vector<float> query_weight_, bias_, output_weight_;
  Linear query_, output_;  ///< empty: as they are
  std::vector<float> v_;   ///< [A] of a hidden layer
  float width_ = 1;
  std::vector<nn::Sinusoids> query_positions_;  ///< one, or none
  Buffer placed_keys_, own_keys_, own_values_;  ///< with positions; projected
  ConstMatrix keys_;                            ///< [m, A]
  ConstMatrix values_;                          ///< [m, B]
  Buffer key_panels_;    ///< heads x panels x [A / heads][16], of dot products
  Buffer value_panels_;  ///< heads x chunks x panels x [kChunk][16]
};

}  // namespace bert
