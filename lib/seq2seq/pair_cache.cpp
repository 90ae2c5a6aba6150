#include "seq2seq/pair_cache.h"

namespace bert {

uint32_t PairCache::take() {
  if (free_.empty()) {
    blocks_.emplace_back(kSlots * floats_);
    const auto first = static_cast<uint32_t>(lists_.size());
    lists_.resize(first + kSlots);
    for (uint32_t i = kSlots; i-- > 0;) free_.push_back(first + i);
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  lists_[number] = 1;
  return number;
}

void PairCache::share(std::span<const uint32_t> slots) {
  for (const uint32_t slot : slots) ++lists_[slot];
}

void PairCache::release(std::span<const uint32_t> slots) {
  for (const uint32_t slot : slots) {
    if (--lists_[slot] == 0) free_.push_back(slot);
  }
}

}  // namespace bert
