#include "encoder/position_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace bert {

size_t position_bucket(ptrdiff_t distance) {
  constexpr size_t kSide = 16, kExact = 8;  // buckets of one side; of them, those of one distance
  constexpr double kFarthest = 128;
  const auto length = static_cast<size_t>(std::abs(distance));
  const size_t side = distance > 0 ? kSide : 0;
  if (length < kExact) return side + length;
  // The reference computes this in floats, too, which decides where a bucket ends.
  const float part = std::log(static_cast<float>(length) / kExact) /
                     static_cast<float>(std::log(kFarthest / kExact)) * (kSide - kExact);
  return side + std::min(kSide - 1, kExact + static_cast<size_t>(part));
}

std::unique_ptr<const AttentionBias> load_position_bias(const Config& config,
                                                        const Weights& weights) {
  if (!has_module(config, Role::relative_attention_bias)) return nullptr;
  const std::vector<float> table =
      weights.floats(tensor_spec(config, Role::relative_attention_bias));  // [buckets, A]
  const size_t heads = config.num_attention_heads, last = config.max_tokens() - 1;
  std::vector<float> bias(heads * (2 * last + 1));
  for (size_t i = 0; i <= 2 * last; ++i) {
    const size_t bucket = position_bucket(static_cast<ptrdiff_t>(i) - static_cast<ptrdiff_t>(last));
    for (size_t h = 0; h < heads; ++h) bias[h * (2 * last + 1) + i] = table[bucket * heads + h];
  }
  return std::make_unique<const DistanceBias>(std::move(bias), heads);
}

}  // namespace bert
