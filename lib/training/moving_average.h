#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/team.h"
#include "ops/matrix.h"

namespace bert::training {

/// The moving average of all parameters. After step t, counted from 1, it moves by
/// 1 - min(decay, t / (t + 9)), so that a short run forgets where it began.
///
/// Thread rule: one owner, whose team it uses.
class MovingAverage {
 public:
  /// `decay` 0: there is none.
  MovingAverage(double decay, size_t floats, Team& team)
      : decay_(decay), floats_(decay > 0 ? floats : 0), team_(team) {}

  /// The average, or nullptr if there is none; before the first step it is not set.
  float* values() { return decay_ > 0 ? average_.reserve(floats_) : nullptr; }
  /// Begins at the parameters before the first step.
  void begin(const float* parameters);
  /// Follows the parameters after step `step`.
  void move(const float* parameters, uint64_t step);
  /// Exchanges the average with the parameters: for a score, or to write it.
  void exchange(float* parameters);

 private:
  /// Calls use(begin, end) for chunks of all floats, in any thread.
  void in_chunks(const std::function<void(size_t begin, size_t end)>& use);

  double decay_;
  size_t floats_;
  Team& team_;
  Buffer average_;
};

}  // namespace bert::training
