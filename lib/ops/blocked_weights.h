#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/linear.h"

namespace bert {

/// The weights of one Linear as panels in kernel order (linear.h, "Layouts").
///
/// Panels of stored matrices are made on demand. The first few products make them in scratch, so
/// that a run of one line does not touch memory of the size of the weights; later products make
/// them in memory that is kept. One thread makes each kept panel. A thread that finds a panel in
/// the making uses its own scratch instead of waiting.
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

  /// Whether the panels are kept, or are to be kept from now on. Call it once per product: it
  /// counts them.
  bool keep() const;
  /// Panels [first, first + count), one after the other, in kept memory or in scratch.
  const std::byte* group(size_t first, size_t count, bool keep, float* scratch) const;
  size_t scratch_floats(size_t count) const {
    return (in_ * 64 + count * panel_bytes_) / sizeof(float);
  }

  /// Makes one panel; `floats` [in * kPanel] is scratch.
  void pack(size_t panel, float* floats, std::byte* to) const;

 private:
  std::vector<WeightRef> weights_;
  std::vector<float> owned_;  ///< matrices of different types, as floats
  std::vector<float> factors_;
  const std::byte* stored_ = nullptr;  ///< panels in a file
  bool stored_as_is_ = false;          ///< they are aligned, so the kernels can use them in place
  size_t out_ = 0;
  size_t in_ = 0;
  size_t panels_ = 0;
  size_t panel_bytes_ = 0;
  Precision precision_ = Precision::f32;

  void choose_layout();

  enum : uint8_t { kEmpty, kBusy, kKept };
  mutable std::atomic<std::byte*> blocks_{nullptr};  ///< [panels, panel_bytes], once needed
  mutable std::atomic<bool> refused_{false};         ///< the system had no memory for them
  mutable std::atomic<int> products_{0};
  std::unique_ptr<std::atomic<uint8_t>[]> states_;  ///< [panels]
};

}  // namespace bert
