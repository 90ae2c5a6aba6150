#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/export.h"
#include "ops/matrix.h"
#include "predict/vectors.h"
#include "rows/task_worker.h"
#include "search/vector_source.h"

namespace bert {

/// Gets records and their vectors [records, D]. Called from the threads of all workers; it throws
/// nothing about a record, since a record comes once.
using VectorSink = std::function<void(std::span<const Record>, ConstMatrix)>;

/// Computes the vectors that `embed` writes and hands them to a sink, instead of rows.
class BERT_API TextVectorWorker : public TaskWorker {
 public:
  /// Borrows the predictor.
  TextVectorWorker(const VectorPredictor& predictor, const TaskOptions& options, VectorSink sink)
      : TaskWorker(predictor.tokenizer(), options),
        predictor_(predictor),
        scratch_of_vectors_(predictor, reader_.options(), batcher_),
        sink_(std::move(sink)) {}
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  const VectorPredictor& predictor_;
  VectorScratch scratch_of_vectors_;
  VectorSink sink_;
};

/// Vectors that come from many threads, given in the order of their records.
///
/// Thread rule: add() may be called from many threads at once, take() from one beside them.
class BERT_API OrderedVectors {
 public:
  void add(std::span<const Record> records, ConstMatrix vectors);
  /// Calls use(vector) for the records that have one, and forgets it.
  void take(std::span<const Record> records,
            const std::function<void(std::span<const float> vector)>& use);

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<float>> vectors_;  ///< by the record's number
};

/// Vectors of records in memory. A row is the record's number - 1. Rows of records that have none
/// and vectors with a number that is not finite are zeros, which are similar to nothing.
///
/// Thread rule: add() may be called from many threads; the rest after it.
class BERT_API TextVectors {
 public:
  enum class State : char { absent, finite, not_finite };

  explicit TextVectors(size_t width) : width_(width) {}
  void add(std::span<const Record> records, ConstMatrix vectors);
  size_t rows() const { return states_.size(); }  ///< N, the largest number
  State state(size_t row) const { return states_[row]; }
  /// [N, D]; the vectors must outlive it.
  VectorSource source() const;

 private:
  static constexpr size_t kBlock = 4096;  ///< rows, a multiple of those that a search reads

  std::mutex mutex_;
  size_t width_;  ///< D
  std::vector<State> states_;
  /// Blocks of rows, so that no vector moves and memory does not double as they grow.
  std::vector<std::unique_ptr<float[]>> blocks_;
};

}  // namespace bert
