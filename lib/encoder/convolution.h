#pragma once

#include <vector>

#include "encoder/norm.h"
#include "encoder/packed_batch.h"
#include "ops/linear.h"

namespace bert {

constexpr size_t kWindowsAtOnce = 128;  ///< bounds the memory of windows

/// The windows of K tokens around `rows` tokens of a sequence [T, H] from `first` on, as rows
/// [B, K * H]; zeros continue the sequence on both sides. Valid until the next call.
Matrix windows_of(ConstMatrix tokens, size_t first, size_t rows, size_t kernel, Buffer& windows);

/// DeBERTa's convolution behind the first layer: LN(hidden + act(conv(input))), where `input` is
/// what the first layer read, and each sequence is continued by zeros on both sides.
///
/// Thread rule: const after load; one scratch per thread.
class Convolution {
 public:
  /// Throws Error(data) naming the tensor.
  static Convolution load(const Config& config, const Weights& weights);
  explicit operator bool() const { return kernel_ > 0; }
  /// input, hidden [T, H]; hidden in place.
  void operator()(const PackedBatch& batch, ConstMatrix input, Matrix hidden, Buffer& windows,
                  LinearScratch& scratch) const;

 private:
  size_t kernel_ = 0;           ///< K tokens
  std::vector<float> weights_;  ///< [H, K * H], which dense_ borrows
  Linear dense_;
  Activation act_ = Activation::tanh;
  Norm norm_;
};

}  // namespace bert
