#include "encoder/position_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace bert {

size_t DistanceBuckets::of(ptrdiff_t distance) const {
  const size_t side = both_sides ? count / 2 : count, exact = side / 2;
  const size_t first = both_sides && distance > 0 ? side : 0;
  const auto length =
      static_cast<size_t>(both_sides ? std::abs(distance) : -std::min<ptrdiff_t>(distance, 0));
  if (length < exact) return first + length;
  // The reference computes this in floats, too, which decides where a bucket ends.
  const double range = std::log(static_cast<double>(farthest) / static_cast<double>(exact));
  const float part = std::log(static_cast<float>(length) / static_cast<float>(exact)) /
                     static_cast<float>(range) * static_cast<float>(side - exact);
  return first + std::min(side - 1, exact + static_cast<size_t>(part));
}

BucketBias BucketBias::load(const Config& config, const Weights& weights, size_t layer) {
  const std::vector<float> table = weights.floats(
      tensor_spec(config, Role::distance_bias, Part::weight, layer));  // [buckets, A]
  const DistanceBuckets buckets{config.relative_attention_num_buckets,
                                config.relative_attention_max_distance,
                                !config.family->cross_attention};
  BucketBias bias;
  bias.heads_ = config.num_attention_heads;
  bias.farthest_ = static_cast<ptrdiff_t>(std::max(buckets.farthest, buckets.count));
  for (size_t head = 0; head < bias.heads_; ++head) {
    for (ptrdiff_t d = -bias.farthest_; d <= bias.farthest_; ++d) {
      bias.rows_.push_back(table[buckets.of(d) * bias.heads_ + head]);
    }
  }
  return bias;
}

float BucketBias::at(size_t head, ptrdiff_t distance) const {
  const ptrdiff_t width = 2 * farthest_ + 1;
  return rows_[static_cast<size_t>(static_cast<ptrdiff_t>(head) * width + farthest_ +
                                   std::clamp(distance, -farthest_, farthest_))];
}

HeadBias BucketBias::of(size_t head, ConstMatrix q, ConstMatrix, Buffer& scratch) const {
  const auto last = static_cast<ptrdiff_t>(q.rows) - 1;
  float* row = scratch.reserve(static_cast<size_t>(2 * last + 1));
  for (ptrdiff_t d = -last; d <= last; ++d) row[d + last] = at(head, d);
  return {row + last, -1};
}

void BucketBias::of_last(size_t n, Matrix out) const {
  for (size_t head = 0; head < heads_; ++head) {
    for (size_t j = 0; j < n; ++j) {
      out.row(head)[j] = at(head, static_cast<ptrdiff_t>(j) - static_cast<ptrdiff_t>(n) + 1);
    }
  }
}

std::unique_ptr<const AttentionBias> load_position_bias(const Config& config,
                                                        const Weights& weights) {
  if (!has_module(config, Role::relative_attention_bias)) return nullptr;
  const std::vector<float> table =
      weights.floats(tensor_spec(config, Role::relative_attention_bias));  // [buckets, A]
  const size_t heads = config.num_attention_heads, last = config.max_tokens() - 1;
  std::vector<float> bias(heads * (2 * last + 1));
  for (size_t i = 0; i <= 2 * last; ++i) {
    const size_t bucket =
        DistanceBuckets().of(static_cast<ptrdiff_t>(i) - static_cast<ptrdiff_t>(last));
    for (size_t h = 0; h < heads; ++h) bias[h * (2 * last + 1) + i] = table[bucket * heads + h];
  }
  return std::make_unique<const DistanceBias>(std::move(bias), heads);
}

}  // namespace bert
