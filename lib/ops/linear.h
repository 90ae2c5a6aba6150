#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/export.h"
#include "ops/activation.h"
#include "ops/dtype.h"
#include "ops/matrix.h"

namespace bert {

class Team;

/// How a Linear computes its products. f32 is as exact as the reference; bf16 and int8 trade
/// accuracy for speed. int8 has one scale for each 64 values along K, in weights and inputs, and
/// exact sums within these 64. On CPUs with tiles (AMX) the scaling would take longer than the
/// products, so int8 weights are widened to bf16 and the inputs are bf16. split is as exact as f32:
/// on CPUs with tiles it sums products of bf16, elsewhere it is f32. From about 32 rows on it is up
/// to twice as fast, for one row up to four times slower.
enum class Precision { f32, bf16, int8, split };

/// A weight matrix as the file holds it: row-major [out, in], any alignment. Not owned.
struct WeightRef {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  size_t out = 0;  ///< N
  size_t in = 0;   ///< K
};

/// A weight matrix in kernel order, as block_weights() writes it, for example in a mapped file. Not
/// owned. If it is aligned to 64 bytes it is used in place, else it is copied on first use.
///
/// Layouts: N is cut into panels of 16 outputs, one after the other; the last is filled up with
/// zeros.
///   f32    [K][16] floats
///   bf16   [K / 2][16][2] bfloat16: pairs along K for each output; an odd K is filled up
///   int8   K in groups of 64, the last filled up to a multiple of 4; each group has
///          16 float scales, 16 int32 sums of its columns, and [K' / 4][16][4] int8;
///          weight n, k is about scale[n] * int8
/// With factors, int8 begins with one float for each k, filled up to 64 bytes. Before rounding,
/// inputs are multiplied by it and weights divided by it. All is little-endian and the same for
/// every instruction set.
struct BlockedRef {
  const std::byte* data = nullptr;
  Precision precision = Precision::int8;
  size_t out = 0;  ///< N
  size_t in = 0;   ///< K
  bool factors = false;
};

/// The version of these layouts, which files name.
constexpr int kBlockedLayout = 1;

BERT_API size_t blocked_bytes(Precision precision, size_t out, size_t in, bool factors = false);
/// Writes matrices of the same K side by side (N is their sum) in kernel order. `factors` are [K],
/// above 0, or empty. `out` is [blocked_bytes(...)], aligned to 64 bytes.
BERT_API void block_weights(std::span<const WeightRef> weights, Precision precision,
                            std::span<const float> factors, std::byte* out);
/// The weights [K] of one output, as floats.
BERT_API void unblock_row(const BlockedRef& blocked, size_t row, std::span<float> out);

/// Scratch memory of one thread for Linear. It grows and never shrinks.
struct LinearScratch {
  Buffer panel;          ///< panels of weights in kernel order that are not kept
  Buffer quantized;      ///< activations as int8 or bf16
  Buffer scaled;         ///< a row of inputs times the factors
  Team* team = nullptr;  ///< the threads that share a product; nullptr: this thread alone
};

/// A fully connected layer, y = act(x W^T + b) (+ residual).
///
///   x [T, K]   y [T, N]   W [N, K] as stored   b [N]
///
/// The weights are not owned. They are put in kernel order on first use: in scratch for the first
/// products, then in memory that is kept. Every sum over K has the same order in all cases and for
/// every T. So on one machine the bits of a row do not depend on its neighbours, the batch or the
/// number of threads.
///
/// Thread rule: const after construction; operator() may run in many threads, each with its own
/// scratch.
class BERT_API Linear {
 public:
  Linear();
  /// `bias` may be empty. Throws std::bad_alloc only.
  Linear(WeightRef weight, std::vector<float> bias, Precision precision = Precision::f32);
  /// Several matrices of the same K side by side, computed as one (query, key and value). int8 may
  /// have `factors` [K], above 0: before rounding, input k is multiplied by factor k and its
  /// weights are divided by it.
  Linear(std::span<const WeightRef> weights, std::vector<float> bias, Precision precision,
         std::span<const float> factors = {});
  /// Weights in kernel order, from a file that `quantize` wrote.
  Linear(const BlockedRef& blocked, std::vector<float> bias);
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;
  ~Linear();

  size_t out_features() const;  ///< N
  size_t in_features() const;   ///< K
  explicit operator bool() const { return state_ != nullptr; }

  /// y = act(x W^T + b), or with a residual [T, N], y = act(x W^T + b) + residual. y and residual
  /// may be the same matrix.
  void operator()(ConstMatrix x, Matrix y, Activation act, LinearScratch& scratch,
                  ConstMatrix residual = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert
