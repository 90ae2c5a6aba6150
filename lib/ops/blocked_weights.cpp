#include "ops/blocked_weights.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/platform.h"
#include "ops/dtype.h"
#include "ops/kernels/kernel_table.h"

namespace bert {
namespace {

/// After so many products, the panels of a float matrix are kept. To make them again costs each
/// product as much as reading the weights once or twice. To keep them costs the first touch of that
/// much memory, ten times more. Quantised panels are always kept: they cost more to make and take
/// less memory.
constexpr int kKeepAfter = 16;

size_t bytes_of_panel(Precision precision, size_t in) {
  switch (precision) {
    case Precision::bf16:
      return round_up(in, 2) * kPanel * 2;
    case Precision::int8:
      return (int8_groups(in) * 8 + round_up(in, 4)) * kPanel;
    default:
      return in * kPanel * sizeof(float);
  }
}

size_t panels_of(size_t out) { return (out + kPanel - 1) / kPanel; }

/// Bytes of the factors, which come before the panels.
size_t bytes_of_factors(size_t in, bool factors) {
  return factors ? round_up(in * sizeof(float), 64) : 0;
}

}  // namespace

size_t blocked_bytes(Precision precision, size_t out, size_t in, bool factors) {
  return bytes_of_factors(in, factors) + panels_of(out) * bytes_of_panel(precision, in);
}

void block_weights(std::span<const WeightRef> weights, Precision precision,
                   std::span<const float> factors, std::byte* out) {
  const BlockedWeights blocked(weights, precision, factors);
  if (!factors.empty()) {
    std::memcpy(out, factors.data(), factors.size_bytes());
    out += bytes_of_factors(factors.size(), true);
  }
  std::vector<float> floats(blocked.in() * kPanel);
  for (size_t p = 0; p < blocked.panels(); ++p) {
    blocked.pack(p, floats.data(), out + p * bytes_of_panel(precision, blocked.in()));
  }
}

namespace {

void unblock_int8(const std::byte* panel, size_t n, std::span<float> out) {
  for (size_t k = 0; k < out.size(); k += kInt8Group) {
    const size_t count = std::min(kInt8Group, out.size() - k);
    float scale;
    std::memcpy(&scale, panel + n * sizeof scale, sizeof scale);
    panel += 8 * kPanel;
    for (size_t i = 0; i < count; ++i) {
      const std::byte value = panel[i / 4 * 4 * kPanel + 4 * n + i % 4];
      out[k + i] = scale * static_cast<float>(static_cast<int8_t>(value));
    }
    panel += round_up(count, 4) * kPanel;
  }
}

}  // namespace

void unblock_row(const BlockedRef& blocked, size_t row, std::span<float> out) {
  const std::byte* panel = blocked.data + bytes_of_factors(blocked.in, blocked.factors) +
                           row / kPanel * bytes_of_panel(blocked.precision, blocked.in);
  const size_t n = row % kPanel;
  if (blocked.precision == Precision::int8) {
    unblock_int8(panel, n, out);
    if (!blocked.factors) return;
    std::vector<float> factors(blocked.in);
    to_float(DType::f32, blocked.data, factors);
    return kernels().multiply(out.data(), factors.data(), out.size(), out.data());
  }
  const bool half = blocked.precision == Precision::bf16;
  for (size_t k = 0; k < out.size(); ++k) {
    const std::byte* value = half ? panel + (k / 2 * 2 * kPanel + 2 * n + k % 2) * 2
                                  : panel + (k * kPanel + n) * sizeof(float);
    to_float(half ? DType::bf16 : DType::f32, value, {&out[k], 1});
  }
}

BlockedWeights::BlockedWeights(std::span<const WeightRef> weights, Precision precision,
                               std::span<const float> factors)
    : weights_(weights.begin(), weights.end()),
      factors_(factors.begin(), factors.end()),
      in_(weights.front().in),
      precision_(precision) {
  bool mixed = false;
  for (const WeightRef& weight : weights) {
    out_ += weight.out;
    mixed |= weight.dtype != weights.front().dtype;
  }
  if (mixed) {
    owned_.resize(out_ * in_);
    float* to = owned_.data();
    for (const WeightRef& weight : weights) {
      to_float(weight.dtype, weight.data, {to, weight.out * in_});
      to += weight.out * in_;
    }
    weights_ = {{reinterpret_cast<const std::byte*>(owned_.data()), DType::f32, out_, in_}};
  }
  choose_layout();
}

BlockedWeights::BlockedWeights(const BlockedRef& blocked)
    : stored_(blocked.data + bytes_of_factors(blocked.in, blocked.factors)),
      out_(blocked.out),
      in_(blocked.in),
      precision_(blocked.precision) {
  if (blocked.factors) {
    factors_.resize(in_);
    to_float(DType::f32, blocked.data, factors_);
  }
  choose_layout();
  stored_as_is_ = reinterpret_cast<uintptr_t>(stored_) % 64 == 0;
}

void BlockedWeights::choose_layout() {
  panels_ = panels_of(out_);
  panel_bytes_ = bytes_of_panel(precision_, in_);
  states_ = std::make_unique<std::atomic<uint8_t>[]>(panels_);
}

BlockedWeights::~BlockedWeights() {
  if (std::byte* data = blocks_.load()) munmap(data, panels_ * panel_bytes_);
}

bool BlockedWeights::keep() const {
  if (stored_as_is_ || blocks_.load(std::memory_order_acquire)) return true;
  const bool wanted = precision_ != Precision::f32 ||
                      products_.fetch_add(1, std::memory_order_relaxed) >= kKeepAfter;
  if (!wanted || refused_.load(std::memory_order_relaxed)) return false;
  const size_t bytes = panels_ * panel_bytes_;
  void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) {
    refused_.store(true, std::memory_order_relaxed);
    return false;
  }
  platform::prefer_huge_pages(made, bytes);
  std::byte* expected = nullptr;
  if (!blocks_.compare_exchange_strong(expected, static_cast<std::byte*>(made),
                                       std::memory_order_acq_rel)) {
    munmap(made, bytes);  // another thread was first
  }
  return true;
}

void BlockedWeights::pack(size_t panel, float* floats, std::byte* to) const {
  const KernelTable& table = kernels();
  if (stored_) {
    std::memcpy(to, stored_ + panel * panel_bytes_, panel_bytes_);
    return;
  }
  const std::byte* rows[kPanel] = {};
  size_t n = panel * kPanel;
  size_t filled = 0;
  for (const WeightRef& weight : weights_) {
    for (; n < weight.out && filled < kPanel; ++n, ++filled) {
      rows[filled] = weight.data + n * in_ * dtype_size(weight.dtype);
    }
    n -= std::min(n, weight.out);
  }
  float* const values = precision_ == Precision::f32 ? reinterpret_cast<float*>(to) : floats;
  table.pack_f32(rows, static_cast<int>(weights_.front().dtype), in_, values);
  for (size_t k = 0; k < factors_.size(); ++k) {
    for (size_t i = k * kPanel; i < (k + 1) * kPanel; ++i) values[i] /= factors_[k];
  }
  if (precision_ == Precision::int8) table.pack_int8(values, in_, to);
  if (precision_ == Precision::bf16) table.pack_bf16(values, in_, to);
}

const std::byte* BlockedWeights::group(size_t first, size_t count, bool keep,
                                       float* scratch) const {
  if (stored_as_is_) return stored_ + first * panel_bytes_;
  if (keep) {
    std::byte* kept = blocks_.load(std::memory_order_acquire) + first * panel_bytes_;
    bool complete = true;
    for (size_t p = 0; p < count; ++p) {
      std::atomic<uint8_t>& state = states_[first + p];
      uint8_t seen = state.load(std::memory_order_acquire);
      if (seen == kEmpty && state.compare_exchange_strong(seen, kBusy, std::memory_order_acq_rel)) {
        pack(first + p, scratch, kept + p * panel_bytes_);
        state.store(kKept, std::memory_order_release);
        seen = kKept;
      }
      complete &= seen == kKept;
    }
    if (complete) return kept;
  }
  std::byte* local = reinterpret_cast<std::byte*>(scratch + in_ * kPanel);
  for (size_t p = 0; p < count; ++p) pack(first + p, scratch, local + p * panel_bytes_);
  return local;
}

}  // namespace bert
