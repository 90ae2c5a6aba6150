#pragma once

#include "encoder/disentangled.h"
#include "encoder/packed_batch.h"
#include "nn/attention_gradient.h"
#include "nn/dropout.h"
#include "training/parameters.h"

namespace bert::training {

/// DeBERTa's vectors of distances for the sequences of one pass, and the way back: the rows of the
/// table that the longest of them needs, behind their norm.
///
/// Thread rule: one per thread.
class DistanceVectors {
 public:
  /// `config` is borrowed.
  explicit DistanceVectors(const Config& config)
      : config_(config), positions_(RelativePositions::rows_of(config.disentangled)) {}

  /// Makes rows() for `batch`, and sets their gradient to 0. A model without a table has none.
  void begin(const ModelWeights& weights, const PackedBatch& batch);
  explicit operator bool() const { return rows_.data != nullptr; }
  ConstMatrix rows() const { return rows_; }   ///< [R, H]
  Matrix gradient() const { return d_rows_; }  ///< to which all layers add
  size_t first() const { return first_; }      ///< row of the table that rows() begins with
  /// The row of rows() of a query that stands `distance` behind its key.
  size_t row(ptrdiff_t distance) const {
    return static_cast<size_t>(positions_.row(distance)) - first_;
  }
  const Config& config() const { return config_; }
  /// Adds to the table's gradient.
  void finish(const ModelWeights& weights, const ModelWeights& gradient);

 private:
  const Config& config_;
  const RelativePositions positions_;
  Matrix rows_, d_rows_;
  size_t first_ = 0;
  Buffer normal_, statistics_, gradients_;
};

/// Disentangled attention in one layer (encoder/disentangled.h), and its way back:
///   scores += q_i . K_r(i - j) + k_j . Q_r(i - j)
///
/// Thread rule: one per layer and thread; forward() keeps what the way back needs.
class DistanceTerms : public nn::ScoreTerms {
 public:
  /// Projects the vectors, which are borrowed until finish(). `drop` is of the vectors.
  void forward(const AttentionWeights& weights, const DistanceVectors& vectors,
               const nn::Dropout& drop);
  void add(const nn::HeadView& head, ConstMatrix q, ConstMatrix k, Matrix scores) override;
  void add_gradient(const nn::HeadView& head, ConstMatrix q, ConstMatrix k, ConstMatrix d_scores,
                    Matrix dq, Matrix dk) override;
  /// Adds to the projections' gradients, and to that of the vectors.
  void finish(const AttentionWeights& weights, const AttentionWeights& gradient,
              const nn::Dropout& drop);

 private:
  /// One of the two terms.
  struct Term {
    bool used = false;
    Buffer projected, gradient;  ///< [R, A D]
    Buffer products;             ///< [n, R], scratch: of all queries, or keys, with all vectors
  };
  void add_term(Term& term, const nn::HeadView& head, ConstMatrix x, bool of_keys, Matrix scores);
  void add_term_gradient(Term& term, const nn::HeadView& head, ConstMatrix x, bool of_keys,
                         ConstMatrix d_scores, Matrix dx);
  Matrix matrix(Buffer& buffer) const { return {buffer.data(), rows_, width_}; }

  const DistanceVectors* vectors_ = nullptr;
  size_t rows_ = 0, width_ = 0;  // R, A D
  Buffer dropped_, d_dropped_;   // [R, H]
  Term keys_, queries_;          // content to position, position to content
};

}  // namespace bert::training
