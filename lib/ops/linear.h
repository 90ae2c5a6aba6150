#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/export.h"
#include "ops/dtype.h"
#include "ops/matrix.h"

namespace bert {

class Team;

/// hidden_act of a Hugging Face config, and what heads need.
///   gelu      x Phi(x), with erf       gelu_tanh  the tanh form (gelu_new, gelu_pytorch_tanh)
enum class Activation { none, gelu, gelu_tanh, gelu_quick, relu, silu, tanh, sigmoid };

/// How the products of a Linear are computed. f32 is exact to the reference; bf16 and int8 trade
/// accuracy for speed (int8: one scale per token for activations, one per output for weights).
enum class Precision { f32, bf16, int8 };

/// A weight matrix as the file holds it: row-major [out, in], any alignment. Not owned.
struct WeightRef {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  size_t out = 0;  ///< N
  size_t in = 0;   ///< K
};

/// Scratch of one thread for Linear; grown, never shrunk.
struct LinearScratch {
  Buffer panel;      ///< a block of weights in kernel order, while the matrix is not yet blocked
  Buffer quantized;  ///< activations as int8 or bf16
  Team* team = nullptr;  ///< threads to share one product with; nullptr: this thread alone
};

/// A fully connected layer, y = act(x W^T + b) (+ residual).
///
///   x [T, K]   y [T, N]   W [N, K] as stored   b [N]
///
/// The weights are borrowed from the mapped file. They are re-ordered into blocks for the kernels
/// on first need (and then kept), or block by block in scratch for a few rows; the order of every
/// sum over K is the same in both cases and for every T, so a row's result does not depend on its
/// neighbours, the batch, or the number of threads: it is bit-equal always on one machine.
///
/// Thread rule: const after construction; operator() may run in many threads, each with its own
/// scratch.
class BERT_API Linear {
 public:
  Linear();
  /// `bias` may be empty. Throws std::bad_alloc only.
  Linear(WeightRef weight, std::vector<float> bias, Precision precision = Precision::f32);
  /// Several matrices of the same K side by side, computed as one (query, key and value).
  Linear(std::span<const WeightRef> weights, std::vector<float> bias, Precision precision);
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;
  ~Linear();

  size_t out_features() const;  ///< N
  size_t in_features() const;   ///< K
  explicit operator bool() const { return state_ != nullptr; }

  /// y = act(x W^T + b); with a residual [T, N], y = act(x W^T + b) + residual. y may be the
  /// residual.
  void operator()(ConstMatrix x, Matrix y, Activation act, LinearScratch& scratch,
                  ConstMatrix residual = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert
