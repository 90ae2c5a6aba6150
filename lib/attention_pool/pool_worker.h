#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_pool/attention_pool.h"
#include "io/cells.h"
#include "pipeline/worker.h"

namespace bert {

/// What a row of attention-pool holds.
///   outputs   the output [O] of a query
///   weights   the weights [m]; of several heads, a row for each: record, head, weights
///   stages    every stage of the computation, a row for each: record (head) stage numbers
enum class PoolRows { outputs, weights, stages };

/// A row of a query: its numbers, and of which head and stage they are.
struct PoolRow {
  PoolRows kind = PoolRows::outputs;
  bool heads = false;           ///< there are several, and each row says which
  size_t head = 0;              ///< from 1; 0: of all
  std::string_view stage = {};  ///< the stage, in PoolRows::stages
  std::span<const float> numbers = {};

  void cells(Cells& c) const;
};

struct PoolRowOptions {
  PoolRows rows = PoolRows::outputs;
  bool number = false;     ///< the record's number first
  bool keep_line = false;  ///< the input line last
  bool json = false;       ///< one JSON object per record
  bool binary = false;     ///< the bytes of the output's floats
  char terminator = '\n';  ///< end of a row, for run_queries
};

/// Reads a query from each record, numbers separated by tabs, and writes its attention.
class PoolWorker : public Worker {
 public:
  PoolWorker(const AttentionPool& pool, const PoolRowOptions& options)
      : pool_(pool), options_(options) {}
  void run(std::span<const Record> records, Rows& rows) override;
  void use_team(Team* team) override { scratch_.team = team; }
  /// The same for queries [n, Dq] that are numbers already; `first` is the number of the first of
  /// them, from 0.
  void run(ConstMatrix queries, size_t first, Rows& rows);
  /// The row of the output for weights [m] that are given, as record 1.
  void mix(std::span<const float> weights, Rows& rows);

 private:
  /// A query and where it comes from.
  struct Block {
    ConstMatrix queries;
    size_t first = 0;
    std::span<const Record> records;  ///< empty: of a matrix
  };
  void write(const Block& block, Rows& rows);
  void write_outputs(const Block& block, ConstMatrix outputs, Rows& rows);
  void write_weights(const Block& block, size_t head, ConstMatrix weights, Rows& rows);
  void write_stages(const Block& block, Rows& rows);
  void write_stage(const Block& block, PoolStage stage, size_t head, ConstMatrix numbers,
                   Rows& rows);
  void begin_row(uint64_t number, Rows& rows) const;
  void end_row(const Block& block, size_t i, Rows& rows) const;
  void note_non_finite(uint64_t number, std::span<const float> numbers);

  const AttentionPool& pool_;
  const PoolRowOptions options_;
  AttentionPool::Scratch scratch_;
  std::vector<float> queries_;
  Buffer outputs_;
  uint64_t last_non_finite_ = 0;
};

/// Writes the rows of all queries [n, Dq] in order, computed by `threads`; the first has the number
/// `first`, from 0. `write` is called from one thread.
Counts run_queries(const AttentionPool& pool, const PoolRowOptions& options, ConstMatrix queries,
                   size_t first, int threads,
                   const std::function<void(std::string_view rows)>& write);

}  // namespace bert
