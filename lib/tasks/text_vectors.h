#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/export.h"
#include "ops/matrix.h"
#include "pipeline/worker.h"
#include "search/vector_source.h"
#include "tasks/embed.h"

namespace bert {

/// Gets records and their vectors [records, D]. Called from the threads of all workers; it throws
/// nothing about a record, since a record comes once.
using VectorSink = std::function<void(std::span<const Record>, ConstMatrix)>;

/// Computes the vectors that `embed` writes and hands them to a sink, instead of rows.
class BERT_API TextVectorWorker : public Worker {
 public:
  /// `embed`: its plan has the format f32, and `width` numbers a row.
  TextVectorWorker(std::unique_ptr<Worker> embed, size_t width, VectorSink sink)
      : embed_(std::move(embed)), width_(width), sink_(std::move(sink)) {}
  void run(std::span<const Record> records, Rows& rows) override;
  void use_team(Team* team) override { embed_->use_team(team); }

 private:
  std::unique_ptr<Worker> embed_;
  size_t width_;  ///< D
  VectorSink sink_;
  Rows vectors_;
};

/// Whether all numbers are finite.
BERT_API bool is_finite(std::span<const float> vector);

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
