#pragma once

#include <cstddef>
#include <cstdint>

#include "base/export.h"

namespace bert {

/// The interface of the files of one instruction set (kernels_*.cpp). It has plain pointers only:
/// these files are compiled with other flags and must not share inline functions with the rest of
/// the library.
///
/// A weight matrix is cut into panels of kPanel outputs. In a panel, all outputs of one step along
/// K are next to each other; outputs beyond N are zero. See linear.h for the three layouts.
constexpr size_t kPanel = 16;

/// int8 inputs and weights have one scale for each group of this many values along K. With one
/// scale for a whole row, a few large values of BERT's hidden states round the others to zero
/// (measured: cosine to float sentence vectors 0.995 instead of 0.9995).
constexpr size_t kInt8Group = 64;
constexpr size_t int8_groups(size_t k) { return (k + kInt8Group - 1) / kInt8Group; }

/// The scale of one group of inputs: value = (step - zero) * scale.
struct Int8Scale {
  float scale = 0;
  float zero = 0;  ///< a whole number
};

/// One more activation than in linear.h: gelu within 7e-5 and without a division, for products of
/// bf16 and int8, whose rounding is larger.
constexpr int kGeluNear = 8;

/// c [rows, cols] = act(a [rows, k] B + bias) + residual, where B is `panels` panels.
struct GemmTask {
  const void* a = nullptr;              ///< float, bf16 or int8, as the kernel wants
  size_t lda = 0;                       ///< elements from row to row of a
  const Int8Scale* a_scales = nullptr;  ///< [rows, int8_groups(k)], int8 only
  const void* b = nullptr;
  size_t panel_stride = 0;  ///< bytes from panel to panel
  size_t step = 0;  ///< floats from one k to the next (gemm_f32 only); kPanel in kernel order
  size_t rows = 0;
  size_t panels = 0;
  size_t cols = 0;  ///< at most panels * kPanel
  size_t k = 0;
  float* c = nullptr;
  size_t ldc = 0;
  const float* bias = nullptr;  ///< [panels * kPanel] or nullptr
  const float* residual = nullptr;
  size_t ldr = 0;
  int activation = 0;  ///< an Activation or kGeluNear
};

/// One head of one sequence; see attention_kernel.h.
struct AttentionTask {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* out = nullptr;  ///< nullptr: computes only the probabilities
  size_t q_stride = 0, k_stride = 0, v_stride = 0, out_stride = 0;
  size_t n = 0;
  size_t d = 0;
  float scale = 1;
  /// Or nullptr: bias[i * bias_step + j] is added to the scaled score of query i and key j.
  const float* bias = nullptr;
  ptrdiff_t bias_step = 0;
  /// Query i sees key j where i - j <= window and j - i <= ahead. attention_bf16 sees all.
  size_t window = SIZE_MAX;
  size_t ahead = SIZE_MAX;
  float* scratch = nullptr;  ///< attention_scratch(n, d) floats, aligned to 64 bytes
  float* scores = nullptr;   ///< [n, n] scaled, before the softmax, or nullptr
  size_t scores_stride = 0;
  float* probabilities = nullptr;  ///< [n, n], or nullptr
  size_t probabilities_stride = 0;
};

/// One query of each head and the keys it looks at; see ops/look.h.
struct LookTask {
  const float* q = nullptr;            ///< [heads, d]
  const float* const* keys = nullptr;  ///< [n]: where the key [heads, d] of each place lies
  size_t values = 0;                   ///< floats from a place's key to its value
  size_t n = 0, heads = 1, d = 0;
  float scale = 1;
  const float* bias = nullptr;  ///< [heads, n] added to the scaled scores, or nullptr
  float* out = nullptr;         ///< [heads, d]
  float* scratch = nullptr;     ///< look_scratch(heads, n) floats
  /// Or nullptr: the scaled scores and their softmax of each head, that of head h at h times
  /// shown_stride.
  float* scores = nullptr;
  float* weights = nullptr;
  size_t shown_stride = 0;
};

struct KernelTable {
  /// Transposes 16 rows of k values of a float type (nullptr: a row of zeros) to a panel [k][16] of
  /// floats.
  void (*pack_f32)(const std::byte* const* rows, int dtype, size_t k, float* panel);
  /// Converts a panel [k][16] to the bf16 layout, rounding to nearest even.
  void (*pack_bf16)(const float* panel, size_t k, void* out);
  /// Converts a panel [k][16] to the int8 layout.
  void (*pack_int8)(const float* panel, size_t k, void* out);

  void (*gemm_f32)(const GemmTask&);
  void (*gemm_bf16)(const GemmTask&);  ///< nullptr: none; widen the weights and use gemm_f32
  void (*gemm_int8)(const GemmTask&);

  /// Rounds x [k] to bf16; adds one zero if k is odd.
  void (*to_bf16)(const float* x, size_t k, uint16_t* out);
  /// Rounds x [k] to 256 steps, filled up to a multiple of 4, with [int8_groups(k)] scales. Only
  /// gemm_int8 knows how the steps are written.
  void (*to_int8)(const float* x, size_t k, void* out, Int8Scale* scales);
  void (*to_float)(int dtype, const std::byte* in, size_t n, float* out);
  /// Converts a panel [k] of the bf16 layout to floats; an odd k is filled up.
  void (*bf16_to_f32)(const void* panel, size_t k, float* out);
  /// gemm_f32 with panels of the bf16 layout and the same bits. Best for a few rows, which use each
  /// weight only a few times.
  void (*gemm_bf16_as_f32)(const GemmTask&);

  void (*layer_norm)(const float* x, size_t n, const float* weight, const float* bias, float eps,
                     float* out);
  void (*rms_norm)(const float* x, size_t n, const float* weight, float eps, float* out);
  void (*add)(const float* y, size_t n, float* x);
  void (*multiply)(const float* x, const float* y, size_t n, float* out);
  void (*activate)(int activation, float* x, size_t n);
  void (*softmax)(float* x, size_t n);
  float (*max)(const float* x, size_t n);
  float (*exp_sum)(const float* x, size_t n, float top);
  float (*dot)(const float* a, const float* b, size_t n);
  void (*attention)(const AttentionTask&);
  void (*look)(const LookTask&);

  /// The next three are for products of training, if there is gemm_bf16: there both sides change
  /// each time. Writes columns [0, n) of x [k, ..] as a panel of the bf16 layout, n <= 16; the
  /// others are zeros.
  void (*bf16_columns)(const float* x, size_t stride, size_t k, size_t n, void* out) = nullptr;
  /// Writes rows [0, n) of x [.., k] as a panel of the bf16 layout, n <= 16.
  void (*bf16_rows)(const float* x, size_t stride, size_t n, size_t k, void* out) = nullptr;
  /// Writes columns [0, n) of x [k, ..] as n rows of k bf16 values, ld (even) from row to row; an
  /// odd k is filled up.
  void (*bf16_transpose)(const float* x, size_t stride, size_t k, size_t n, size_t ld,
                         uint16_t* out) = nullptr;

  /// Products of floats as sums of products of bf16, which tiles compute many times faster. Each
  /// float is the sum of three bf16 parts, which have 8 of its 24 bits each. Of the nine products
  /// of parts, the six largest are summed; the others are below a float's rounding. nullptr:
  /// gemm_f32 is faster.
  ///
  /// A row of a has three parts of lda / 3 values each, a multiple of 32. b has panels of floats in
  /// kernel order. scratch has split_scratch(rows, panels) floats, aligned to 64 bytes.
  void (*gemm_split)(const GemmTask&, void* scratch) = nullptr;
  /// Splits x [k] into its three parts of `part` values each, filled up with zeros to a multiple of
  /// 32.
  void (*split)(const float* x, size_t k, size_t part, uint16_t* out) = nullptr;

  /// Converts a panel [k] of the int8 layout to the bf16 layout; k is filled up to a multiple of 4.
  /// It is there if gemm_bf16 is faster than int8 products in tiles: scaling the sums of each group
  /// would take many times longer than the products. nullptr: gemm_int8 is faster.
  void (*int8_to_bf16)(const void* panel, size_t k, void* out) = nullptr;

  /// attention with products of bf16 and sums of floats, if there is gemm_bf16. Gives no
  /// probabilities.
  void (*attention_bf16)(const AttentionTask&) = nullptr;

  /// Bytes of each value that to_int8 writes.
  size_t int8_bytes = 1;

  /// Bytes of panels that gemm_bf16 should compute together, because they stay in the second-level
  /// cache. 0: three panels, as for gemm_int8.
  size_t narrow_bytes = 0;
};

/// The table of the best instruction set of this CPU (base/cpu.h), chosen once.
BERT_API const KernelTable& kernels();
/// How many panels of `bytes` each its gemm_bf16 should compute together.
BERT_API size_t narrow_group(size_t bytes);

/// The table of one set; the CPU must be able to run it.
const KernelTable& kernels_plain();
const KernelTable& kernels_neon();
const KernelTable& kernels_neon_dotprod();
const KernelTable& kernels_neon_i8mm();
const KernelTable& kernels_neon_bf16();
const KernelTable& kernels_avx2();
const KernelTable& kernels_avx2_vnni();
const KernelTable& kernels_avx512();
const KernelTable& kernels_avx512_vnni();
const KernelTable& kernels_avx512_bf16();
const KernelTable& kernels_amx();

constexpr size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }
/// Floats of scratch for gemm_split: the sums that are not complete.
constexpr size_t split_scratch(size_t rows, size_t panels) {
  return round_up(rows, 32) * round_up(panels, 2) * kPanel;
}
/// Bytes of a panel that int8_to_bf16 and bf16_to_f32 write.
constexpr size_t int8_as_bf16(size_t k) { return round_up(k, 4) * kPanel * 2; }
constexpr size_t bf16_as_f32(size_t k) { return round_up(k, 2) * kPanel * sizeof(float); }

constexpr size_t kQueryBlock = 32;
constexpr size_t attention_scratch(size_t n, size_t d) {
  return round_up(n, kPanel) * (d + kQueryBlock) + round_up(d, kPanel) * (n + kQueryBlock) +
         kQueryBlock;
}
constexpr size_t look_scratch(size_t heads, size_t n) { return heads * (n + 1); }
/// attention_scratch for attention_bf16.
constexpr size_t attention_bf16_scratch(size_t n, size_t d) {
  const size_t n32 = round_up(n, 32), d32 = round_up(d, 32);
  return kQueryBlock * (n32 + d32 + 1) + (2 * n32 * d32 + kQueryBlock * (n32 + d32)) / 2;
}

}  // namespace bert
