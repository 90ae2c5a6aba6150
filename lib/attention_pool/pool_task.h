#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_pool/attention_pool.h"
#include "attention_pool/learn.h"
#include "attention_pool/pool_worker.h"
#include "io/matrix_file.h"

namespace bert {

/// What attention-pool is asked for. Paths may be empty.
struct PoolOptions {
  std::string keys, values;          ///< no values: they are the keys
  std::vector<std::string> queries;  ///< none: standard input, or the keys if nothing comes there
  std::string params;                ///< parameters to read, or to write after learning
  std::string given;                 ///< weights instead of queries: "0.1,0.3"
  std::string learn;                 ///< targets to learn from
  std::string fit;                   ///< names of parameters, with commas
  std::string start;                 ///< parameters to start learning from
  std::optional<nn::Score> score;    ///< none: as the parameters say, else scaled_dot
  std::optional<size_t> heads;       ///< none: as the parameters say, else 1
  std::optional<double> width;       ///< width of the kernel gauss
  bool causal = false, leave_one_out = false, positions = false;
  size_t hidden = 0, max_steps = 1000;
  uint64_t seed = 1;
  NumberLines lines;
  std::function<void(const std::string&)> on_notice;  ///< gets what was learned, a line
};

/// The files of one run of attention-pool: opened, checked against each other, and learned from.
class PoolTask {
 public:
  /// Throws Error that names files, options and sizes.
  explicit PoolTask(PoolOptions options);
  PoolTask(const PoolTask&) = delete;
  PoolTask& operator=(const PoolTask&) = delete;

  const AttentionPool& pool() const { return *pool_; }
  /// Whether queries are lines that are read as a stream; else they are in memory, or weights are
  /// given.
  bool streams() const { return queries_.empty() && given_.empty(); }
  /// The files of the stream.
  const std::vector<std::string>& files() const { return options_.queries; }
  /// Rows, if they are in memory; else 0.
  size_t rows() const;
  /// Names of the columns of rows of this kind, without the record: those of the longest.
  std::vector<std::string> columns(PoolRows rows) const;
  /// Writes the rows of what is in memory.
  Counts write(const PoolRowOptions& rows, const std::function<void(std::string_view)>& out) const;

 private:
  PoolParameters open_parameters(const std::string& path);
  void check() const;
  void find_queries();
  size_t most_numbers_of_stage() const;
  PoolParameters learn(PoolParameters start);
  std::vector<float> read_given() const;
  const MatrixFile& values() const { return values_ ? *values_ : keys_; }

  PoolOptions options_;
  PoolForm form_;
  MatrixFile keys_;
  std::optional<MatrixFile> values_;
  std::vector<MatrixFile> own_;
  std::vector<const MatrixFile*> queries_;
  std::vector<float> given_;
  PoolNames names_;
  std::optional<AttentionPool> pool_;
};

}  // namespace bert
