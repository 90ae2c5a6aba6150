#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// Finds which of many logits w h + b may be the largest by products of int8, with proof: how far
/// rounding moves a logit is bounded by Cauchy and Schwarz,
///
///   |w h - w' h'| <= |w - w'| |h| + |w'| |h - h'|
///
/// where w' and h' are rounded. Only the few tokens whose bound reaches the best are computed in
/// floats. So the result is the floats' own, to the bit, for a third of the work.
///
/// Thread rule: const; one Part and Row list per thread.
class Screen {
 public:
  /// Borrows the weights [V, D] and the bias [V] or none.
  Screen(WeightRef weight, std::span<const float> bias);

  /// One row h that looks for its best logit.
  struct Row {
    double length = 0;  ///< |h|
    double moved = 0;   ///< a bound of |h - h'|
    double least = 0;   ///< what the largest logit reaches surely
    struct Candidate {
      int32_t id = 0;
      double most = 0;  ///< that its logit may be
    };
    std::vector<Candidate> candidates;
  };
  /// Buffers of one thread.
  struct Part {
    LinearScratch linear;
    Buffer logits, errors, panel, values;
    std::vector<float> maxima;
    std::vector<Row> rows;
  };

  size_t blocks() const { return blocks_.size(); }
  /// Sets up `part` for the rows of hidden [M, D].
  void begin(ConstMatrix hidden, Part& part) const;
  /// Looks for candidates among the tokens of a block; `banned` [M] or empty.
  void look(size_t block, ConstMatrix hidden, std::span<const std::vector<int32_t>> banned,
            Part& part) const;
  /// The best token of a row by floats, among the candidates of these parts; the lowest of equal
  /// ones. nullopt: the candidates are too many, or the row has no finite length.
  struct Best {
    int32_t id = 0;
    float logit = 0;
  };
  std::optional<Best> decide(size_t row, ConstMatrix hidden, std::span<Part> parts) const;

 private:
  struct Block {
    std::once_flag made;
    size_t first = 0, count = 0;   ///< tokens
    std::vector<std::byte> bytes;  ///< int8 in kernel order
    std::unique_ptr<Linear> linear;
    std::vector<float> moved, length;  ///< [count] |w - w'|, |w'|
    float most_moved = 0, most_length = 0;
  };
  Block& make(size_t block) const;

  WeightRef weight_;
  std::span<const float> bias_;
  mutable std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace bert
