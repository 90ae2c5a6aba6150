#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/matrix.h"

namespace bert {

/// Keys and values that hypotheses have made. A slot is what one token made in all layers; a
/// hypothesis is a list of slots, one for each of its tokens. Hypotheses with the same beginning
/// share its slots, so that beams are copied without copying what they have computed.
class PairCache {
 public:
  /// `floats` of each slot.
  explicit PairCache(size_t floats) : floats_(floats) {}

  /// A slot that one list will have.
  uint32_t take();
  float* slot(uint32_t number) const {
    return blocks_[number / kSlots].data() + number % kSlots * floats_;
  }
  /// One more list has these, or one fewer.
  void share(std::span<const uint32_t> slots);
  void release(std::span<const uint32_t> slots);

 private:
  static constexpr size_t kSlots = 32;  ///< slots of a block, which stays where it is
  size_t floats_;
  std::vector<Buffer> blocks_;
  std::vector<uint32_t> lists_;  ///< that have each slot
  std::vector<uint32_t> free_;
};

}  // namespace bert
