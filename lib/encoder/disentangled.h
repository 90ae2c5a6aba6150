#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "model/config.h"
#include "ops/attention_kernel.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// The vectors of distances, the same in all layers (He et al. 2021, DeBERTa, section 3.1):
///
///   vectors [2 span, H], after their norm
///   row(d) is that of a query that stands d tokens behind the key
struct RelativePositions {
  std::vector<float> vectors;
  /// Of distance d at the middle + d; they ascend. Farther distances have the rows at the ends.
  std::vector<int32_t> rows;

  /// Throws Error(data) naming the tensor.
  static RelativePositions load(const Config& config, const Weights& weights);
  /// Their rows alone, without vectors.
  BERT_API static RelativePositions rows_of(const Disentangled& disentangled);
  int32_t row(ptrdiff_t distance) const {
    const auto middle = static_cast<ptrdiff_t>(rows.size() / 2);
    return rows[static_cast<size_t>(middle + std::clamp(distance, -middle, middle))];
  }
};

/// The row, before it is cut to [0, 2 span), of DeBERTa's table less its middle: near distances
/// have one each, far ones share them by logarithm.
ptrdiff_t relative_bucket(ptrdiff_t distance, const Disentangled& disentangled);

/// What disentangled attention adds to the scaled scores of one layer: content to position
/// q_i . K_r(d) and position to content k_j . Q_r(d) for the distance d = i - j, both scaled as the
/// scores are. K_r and Q_r are vectors of distances through the layer's projections.
///
/// They are computed on first need, from the nearest distances on: short texts use few of them.
///
/// Thread rule: const; may be used by many threads.
class DisentangledBias : public AttentionBias {
 public:
  /// `positions` must outlive it. Throws Error(data) naming the tensor.
  DisentangledBias(const Config& config, const Weights& weights, size_t layer, Precision precision,
                   const RelativePositions& positions, float scale);

  HeadBias of(size_t head, ConstMatrix q, ConstMatrix k, Buffer& scratch) const override;

 private:
  /// Panels of vectors, of all heads.
  struct Packed {
    Buffer panels;      ///< [A][panels][D][16]
    size_t column = 0;  ///< where their projection has it
  };
  /// A projection of the vectors, and what is packed from it.
  struct Source {
    Linear projection;
    std::vector<Packed*> packed;
  };
  const float* panel(const Packed& packed, size_t head, size_t index) const {
    return packed.panels.data() + (head * panels_ + index) * head_size_ * 16;
  }
  void need(size_t first, size_t last) const;
  void make(const Source& source, size_t first, size_t last) const;

  const RelativePositions& positions_;
  size_t heads_, head_size_, panels_;
  float scale_;
  mutable std::mutex mutex_;
  std::unique_ptr<Packed> keys_, queries_;   ///< nullptr: not a part of the bias
  std::vector<Source> sources_;              ///< one if content and positions share projections
  mutable std::atomic<uint64_t> ready_ = 0;  ///< panels [first, last): first << 32 | last
};

}  // namespace bert
