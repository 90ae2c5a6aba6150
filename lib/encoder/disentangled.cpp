#include "encoder/disentangled.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "encoder/norm.h"
#include "ops/panels.h"

namespace bert {

ptrdiff_t relative_bucket(ptrdiff_t distance, const Disentangled& d) {
  const auto middle = static_cast<ptrdiff_t>(d.buckets / 2);
  const ptrdiff_t length = std::abs(distance);
  if (d.buckets == 0 || length <= middle) return distance;
  // The reference computes this in floats, too, which decides where a bucket ends.
  const float far = std::log(static_cast<float>(length) / static_cast<float>(middle));
  const float farthest = std::log(
      static_cast<float>(static_cast<double>(d.max_distance - 1) / static_cast<double>(middle)));
  const auto bucket =
      static_cast<ptrdiff_t>(std::ceil(far / farthest * static_cast<float>(middle - 1))) + middle;
  return distance > 0 ? bucket : -bucket;
}

RelativePositions RelativePositions::rows_of(const Disentangled& d) {
  RelativePositions positions;
  const size_t span = d.span();
  // Beyond it, every distance is cut to the ends of the table.
  const auto last = static_cast<ptrdiff_t>(std::max(span, d.max_distance) + 1);
  for (ptrdiff_t distance = -last; distance <= last; ++distance) {
    const ptrdiff_t row = relative_bucket(distance, d) + static_cast<ptrdiff_t>(span);
    positions.rows.push_back(
        static_cast<int32_t>(std::clamp<ptrdiff_t>(row, 0, static_cast<ptrdiff_t>(2 * span) - 1)));
  }
  return positions;
}

RelativePositions RelativePositions::load(const Config& config, const Weights& weights) {
  RelativePositions positions = rows_of(config.disentangled);
  positions.vectors = weights.floats(tensor_spec(config, Role::relative_embeddings));
  const size_t span = config.disentangled.span(), width = config.hidden_size;
  if (has_module(config, Role::relative_norm)) {
    const Matrix all(positions.vectors.data(), 2 * span, width);
    Norm::load(config, weights, Role::relative_norm)(all, all);
  }
  return positions;
}

DisentangledBias::DisentangledBias(const Config& config, const Weights& weights, size_t layer,
                                   Precision precision, const RelativePositions& positions,
                                   float scale)
    : positions_(positions),
      heads_(config.num_attention_heads),
      head_size_(config.head_size()),
      panels_((2 * config.disentangled.span() + kVectorsOfPanel - 1) / kVectorsOfPanel),
      scale_(scale) {
  const Disentangled& d = config.disentangled;
  const auto packed = [&](size_t column) {
    auto made = std::make_unique<Packed>();
    made->panels.reserve(heads_ * panels_ * head_size_ * kVectorsOfPanel);
    made->column = column;
    return made;
  };
  if (d.content_to_position) keys_ = packed(d.shared ? config.hidden_size : 0);
  if (d.position_to_content) queries_ = packed(0);
  if (d.shared) {
    // The projections of content, which a quantized file has as one.
    Source& source = sources_.emplace_back();
    source.projection = weights.linear(config, kQueryKeyValue, precision, layer);
    for (Packed* part : {keys_.get(), queries_.get()}) {
      if (part) source.packed.push_back(part);
    }
    return;
  }
  const auto add = [&](Packed* part, Role role) {
    if (part) sources_.push_back({weights.linear(config, role, precision, layer), {part}});
  };
  add(keys_.get(), Role::position_key);
  add(queries_.get(), Role::position_query);
}

/// Computes panels [first, last) of one projection.
void DisentangledBias::make(const Source& source, size_t first, size_t last) const {
  const size_t width = heads_ * head_size_, rows = positions_.vectors.size() / width;
  const size_t begin = first * kVectorsOfPanel, end = std::min(last * kVectorsOfPanel, rows);
  const ConstMatrix vectors(positions_.vectors.data() + begin * width, end - begin, width);
  LinearScratch scratch;
  Buffer buffer;
  const Matrix projected = buffer.matrix(vectors.rows, source.projection.out_features());
  source.projection(vectors, projected, Activation::none, scratch);
  for (size_t p = first; p < last; ++p) {
    const size_t row = (p - first) * kVectorsOfPanel;
    const size_t count = std::min(kVectorsOfPanel, vectors.rows - row);
    for (Packed* packed : source.packed) {
      for (size_t head = 0; head < heads_; ++head) {
        const float* from = projected.row(row) + packed->column + head * head_size_;
        float* to = packed->panels.data() + (head * panels_ + p) * head_size_ * kVectorsOfPanel;
        pack_panel(ConstMatrix(from, count, head_size_, projected.stride), to);
      }
    }
  }
}

/// Sees to it that panels [first, last) are there.
void DisentangledBias::need(size_t first, size_t last) const {
  const auto is_there = [&](uint64_t ready) {
    return ready >> 32 <= first && last <= (ready & UINT32_MAX);
  };
  if (is_there(ready_.load(std::memory_order_acquire))) return;
  const std::lock_guard lock(mutex_);
  const uint64_t ready = ready_.load(std::memory_order_relaxed);
  if (is_there(ready)) return;
  const size_t have_first = ready >> 32, have_last = ready & UINT32_MAX;
  for (const Source& source : sources_) {
    if (have_first == have_last) {
      make(source, first, last);
      continue;
    }
    if (first < have_first) make(source, first, have_first);
    if (last > have_last) make(source, have_last, last);
  }
  if (have_first < have_last) {
    first = std::min(first, have_first);
    last = std::max(last, have_last);
  }
  ready_.store(uint64_t{first} << 32 | last, std::memory_order_release);
}

HeadBias DisentangledBias::of(size_t head, ConstMatrix q, ConstMatrix k, Buffer& scratch) const {
  const auto n = static_cast<ptrdiff_t>(q.rows);
  const size_t first = static_cast<size_t>(positions_.row(1 - n)) / kVectorsOfPanel;
  const size_t last = static_cast<size_t>(positions_.row(n - 1)) / kVectorsOfPanel + 1;
  need(first, last);
  const size_t columns = (last - first) * kVectorsOfPanel;  // C
  float* floats = scratch.reserve(q.rows * (q.rows + 2 * columns));
  const Matrix bias(floats, q.rows, q.rows);
  // [n, C]: every query and key with every vector that may meet it
  const Matrix of_queries(floats + q.rows * q.rows, q.rows, columns);
  const Matrix of_keys(of_queries.row(q.rows), q.rows, columns);
  const auto base = static_cast<ptrdiff_t>(first * kVectorsOfPanel);
  if (keys_) multiply_panels(q, panel(*keys_, head, first), last - first, of_queries);
  if (queries_) multiply_panels(k, panel(*queries_, head, first), last - first, of_keys);
  for (ptrdiff_t i = 0; i < n; ++i) {
    float* row = bias.row(static_cast<size_t>(i));
    const float* query = of_queries.row(static_cast<size_t>(i));
    for (ptrdiff_t j = 0; j < n; ++j) {
      const int32_t r = positions_.row(i - j);
      float sum = keys_ ? query[r - base] : 0;
      if (queries_) sum += of_keys.row(static_cast<size_t>(j))[r - base];
      row[j] = sum * scale_;
    }
  }
  return {bias.data, n};
}

}  // namespace bert
