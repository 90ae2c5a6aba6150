#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/team.h"
#include "training/layout.h"

namespace bert::training {

/// What LoRA (Hu et al. 2021) changes: a matrix W of the frozen model becomes W + alpha / rank B A,
/// and A [rank, in] and B [out, rank] learn.
struct LowRankPlan {
  size_t rank = 0;  ///< 0: none
  double alpha = 16;
  /// Ends of the names of modules, as PEFT's target_modules; empty: what makes queries and values.
  /// "all": all matrices of the layers.
  std::vector<std::string> targets;

  float scale() const { return static_cast<float>(alpha / static_cast<double>(rank)); }
};

/// Whether a parameter is A or B of some matrix.
bool is_low_rank(const std::string& name);

/// The matrices that a plan changes, and their parameters. In the array of values, W holds what the
/// model computes with; what it was at the beginning stands in the array of first moments, which a
/// frozen matrix does not use. So checkpoints hold it, too.
///
/// Thread rule: const, so threads may share it.
class LowRank {
 public:
  LowRank() = default;
  /// Finds the matrices among the tensors of a file, and appends A and B of each to the layout.
  /// Throws Error (`lora_targets`) that names a target which is none.
  LowRank(const LowRankPlan& plan, const std::vector<FileTensor>& tensors, Layout& layout);

  bool empty() const { return matrices_.empty(); }
  /// One of the matrices, by its module in the file.
  struct Matrices {
    std::string module;
    size_t out = 0, in = 0;
    std::vector<FileTensor::Piece> pieces;  ///< the rows of W
    size_t a = 0, b = 0;                    ///< where A and B begin
  };
  const std::vector<Matrices>& matrices() const { return matrices_; }

  /// Draws A from U(-1, 1) / sqrt(in), sets B to 0, and keeps each W in `kept`.
  void begin(uint64_t seed, float* values, float* kept) const;
  /// Sets each W by its A and B.
  void merge(float* values, const float* kept, Team& team) const;
  /// Adds the gradients of A and B that follow from those of W, which become 0.
  void derive(const float* values, float* gradient, Team& team) const;

 private:
  size_t rank_ = 0;
  float scale_ = 0;
  std::vector<Matrices> matrices_;
};

}  // namespace bert::training
