#pragma once

#include <functional>
#include <memory>
#include <span>
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
/// accuracy for speed. int8: one scale for each 64 values along K on both sides, exact sums; on
/// CPUs with tiles, whose sums of bytes are done before vectors can scale them, such weights are
/// widened and the activations are bf16. split: as exact as f32, computed as sums of bf16 where the
/// CPU has tiles for them (else it is f32): from some 32 rows on up to twice as fast, for one up to
/// four times slower.
enum class Precision { f32, bf16, int8, split };

/// A weight matrix as the file holds it: row-major [out, in], any alignment. Not owned.
struct WeightRef {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  size_t out = 0;  ///< N
  size_t in = 0;   ///< K
};

/// A weight matrix already in kernel order, as block_weights() writes it and a file may hold it,
/// mapped and shared between processes. Not owned. Aligned to 64 bytes it is used as it is, else
/// copied on first use.
///
/// Layouts: N is cut into panels of 16 outputs, the last filled up with zeros, one after the other.
///   f32    [K][16] floats
///   bf16   [K / 2][16][2] bfloat16: two steps of K for each output; K filled up to even
///   int8   K in groups of 64, the last filled up to a multiple of 4; of each group
///          16 float scales, 16 int32 sums of its columns, and [K' / 4][16][4] int8;
///          weight n, k is about scale[n] * int8
/// With factors, int8 begins with one float for each k, filled up to 64 bytes: x is multiplied by
/// it before it is rounded, weights were divided by it.
/// All little-endian, the same for every instruction set.
struct BlockedRef {
  const std::byte* data = nullptr;
  Precision precision = Precision::int8;
  size_t out = 0;  ///< N
  size_t in = 0;   ///< K
  bool factors = false;
};

/// The version of these layouts that a file names.
constexpr int kBlockedLayout = 1;

BERT_API size_t blocked_bytes(Precision precision, size_t out, size_t in, bool factors = false);
/// Writes matrices of the same K side by side in kernel order; factors [K], above 0, or empty; out
/// [blocked_bytes(...)], aligned to 64.
BERT_API void block_weights(std::span<const WeightRef> weights, Precision precision,
                            std::span<const float> factors, std::byte* out);
/// The weights [K] of one output, as floats.
BERT_API void unblock_row(const BlockedRef& blocked, size_t row, std::span<float> out);

/// Scratch of one thread for Linear; grown, never shrunk.
struct LinearScratch {
  Buffer panel;      ///< a block of weights in kernel order, while the matrix is not yet blocked
  Buffer quantized;  ///< activations as int8 or bf16
  Buffer scaled;     ///< a row times the factors
  Team* team = nullptr;  ///< threads to share one product with; nullptr: this thread alone
  /// If set, called with the (first) matrix and the input [T, K] of each product.
  std::function<void(const std::byte* weights, ConstMatrix x)> observer;
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
  /// Several matrices of the same K side by side, computed as one (query, key and value). Of int8
  /// with `factors` [K], above 0: each input is multiplied by its factor before it is rounded, and
  /// its weights are divided by it.
  Linear(std::span<const WeightRef> weights, std::vector<float> bias, Precision precision,
         std::span<const float> factors = {});
  /// From a file that `quantize` wrote; [N] of several matrices side by side is their sum.
  Linear(const BlockedRef& blocked, std::vector<float> bias);
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
