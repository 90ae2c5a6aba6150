#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/linear.h"

namespace bert {

/// The weights of one Linear, panel by panel in the order of the kernels (linear.h, "Layouts").
///
/// From stored matrices the panels are made on demand: in scratch for the first few products, so
/// that a run of one line touches no memory of the size of the weights, then in memory that is
/// kept. Threads share the work: each panel is made by one; who finds it in the making uses its own
/// scratch instead of waiting.
class BlockedWeights {
 public:
  BlockedWeights(std::span<const WeightRef> weights, Precision precision,
                 std::span<const float> factors);
  explicit BlockedWeights(const BlockedRef& blocked);
  ~BlockedWeights();
  BlockedWeights(const BlockedWeights&) = delete;
  BlockedWeights& operator=(const BlockedWeights&) = delete;

  size_t out() const { return out_; }
  size_t in() const { return in_; }
  size_t panels() const { return panels_; }
  size_t panel_bytes() const { return panel_bytes_; }
  std::span<const float> factors() const { return factors_; }  ///< [K], or empty

  /// To be asked once a product: whether its panels are to be kept, or are already.
  bool keep() const;
  /// Panels [first, first + count), one after the other, kept or in scratch.
  const std::byte* group(size_t first, size_t count, bool keep, float* scratch) const;
  size_t scratch_floats(size_t count) const {
    return (in_ * 64 + count * panel_bytes_) / sizeof(float);
  }

  /// Makes one panel; `floats` [in * kPanel] is scratch.
  void pack(size_t panel, float* floats, std::byte* to) const;

 private:
  std::vector<WeightRef> weights_;
  std::vector<float> owned_;  ///< matrices of mixed types, as floats
  std::vector<float> factors_;
  const std::byte* stored_ = nullptr;  ///< panels as a file holds them
  bool stored_as_is_ = false;          ///< and as the kernels want them
  size_t out_ = 0;
  size_t in_ = 0;
  size_t panels_ = 0;
  size_t panel_bytes_ = 0;
  Precision precision_ = Precision::f32;

  void choose_layout();

  enum : uint8_t { kEmpty, kBusy, kKept };
  mutable std::atomic<std::byte*> blocks_{nullptr};  ///< [panels, panel_bytes], once there is need
  mutable std::atomic<bool> refused_{false};         ///< the system has no memory for them
  mutable std::atomic<int> products_{0};
  std::unique_ptr<std::atomic<uint8_t>[]> states_;  ///< [panels]
};

}  // namespace bert
