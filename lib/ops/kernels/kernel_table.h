#pragma once

#include <cstddef>
#include <cstdint>

namespace bert {

/// What the files of one instruction set (kernels_*.cpp) offer. Plain pointers only: those files
/// are compiled with other flags and must not share inline functions with the rest of the library.
///
/// A matrix of weights is cut into panels of kPanel outputs, each stored so that one step along K
/// is one run of memory; rows beyond N are zero. See linear.h for the three layouts.
constexpr size_t kPanel = 16;

/// Along K, int8 values of both sides have one scale for each group of this many: with one for a
/// whole row, a few large values of BERT's hidden states push the rest to zero (measured: cosine
/// 0.995 instead of 0.9995 to float sentence vectors).
constexpr size_t kInt8Group = 64;
constexpr size_t int8_groups(size_t k) { return (k + kInt8Group - 1) / kInt8Group; }

/// Of one group of activations.
struct Int8Scale {
  float scale = 0;
  float zero = 0;  ///< a whole number
};

/// Besides those of linear.h: Activation::gelu within 7e-5, without its division, for products of
/// bf16 and int8, which round more than that.
constexpr int kGeluNear = 8;

/// c[rows, cols] = act(a[rows, k] B + bias) + residual, B being `panels` panels.
struct GemmTask {
  const void* a = nullptr;              ///< float, bf16 or int8, by the kernel
  size_t lda = 0;                       ///< elements of a from row to row
  const Int8Scale* a_scales = nullptr;  ///< [rows, int8_groups(k)], int8 only
  const void* b = nullptr;
  size_t panel_stride = 0;  ///< bytes from panel to panel
  size_t step = 0;  ///< floats from one k to the next; f32 only, kPanel for a blocked matrix
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
  float* out = nullptr;  ///< nullptr: only the probabilities
  size_t q_stride = 0, k_stride = 0, v_stride = 0, out_stride = 0;
  size_t n = 0;
  size_t d = 0;
  float scale = 1;
  float* scratch = nullptr;        ///< attention_scratch(n, d) floats, aligned to 64 bytes
  float* probabilities = nullptr;  ///< [n, n], or nullptr
  size_t probabilities_stride = 0;
};

struct KernelTable {
  /// Transposes 16 rows of k floats, halfs or bfloat16 (nullptr: zeros) to a panel [k][16] of
  /// floats.
  void (*pack_f32)(const std::byte* const* rows, int dtype, size_t k, float* panel);
  /// panel [k][16] to the bf16 layout, rounding to nearest even.
  void (*pack_bf16)(const float* panel, size_t k, void* out);
  /// panel [k][16] to the int8 layout.
  void (*pack_int8)(const float* panel, size_t k, void* out);

  void (*gemm_f32)(const GemmTask&);
  void (*gemm_bf16)(const GemmTask&);  ///< nullptr: widen the weights and use gemm_f32
  void (*gemm_int8)(const GemmTask&);

  /// x [k] rounded to bf16, padded with one zero when k is odd.
  void (*to_bf16)(const float* x, size_t k, uint16_t* out);
  /// x [k] in 256 steps, filled up to a multiple of 4, and [int8_groups(k)] scales. How the steps
  /// are written is between this and gemm_int8: value = (step - zero) * scale.
  void (*to_int8)(const float* x, size_t k, void* out, Int8Scale* scales);
  void (*to_float)(int dtype, const std::byte* in, size_t n, float* out);
  /// A panel [k] of the bf16 layout to one of floats, filled up to even k.
  void (*bf16_to_f32)(const void* panel, size_t k, float* out);
  /// gemm_f32 by panels of the bf16 layout, to the bit: best for a few rows, which meet each weight
  /// a few times.
  void (*gemm_bf16_as_f32)(const GemmTask&);

  void (*layer_norm)(const float* x, size_t n, const float* weight, const float* bias, float eps,
                     float* out);
  void (*add)(const float* y, size_t n, float* x);
  void (*multiply)(const float* x, const float* y, size_t n, float* out);
  void (*activate)(int activation, float* x, size_t n);
  void (*softmax)(float* x, size_t n);
  float (*dot)(const float* a, const float* b, size_t n);
  void (*attention)(const AttentionTask&);

  /// For products of training, where gemm_bf16 is; columns of floats and weights change each time.
  /// Columns [0, 16) (n of them, zeros beyond) of x [k, ..] as a panel of the bf16 layout.
  void (*bf16_columns)(const float* x, size_t stride, size_t k, size_t n, void* out) = nullptr;
  /// Rows [0, 16) (n of them) of x [.., k] as a panel of the bf16 layout.
  void (*bf16_rows)(const float* x, size_t stride, size_t n, size_t k, void* out) = nullptr;
  /// The same columns as n rows of k bf16 values, ld (even) from row to row, filled up to even k.
  void (*bf16_transpose)(const float* x, size_t stride, size_t k, size_t n, size_t ld,
                         uint16_t* out) = nullptr;

  /// Products of floats by those of bf16, which tiles make many times faster than floats: each
  /// float is the sum of three bf16 (8 bits of its 24 each), and of the nine products of such parts
  /// the six that count are summed. nullptr: gemm_f32 is best.
  ///
  /// a holds rows of three parts, lda / 3 values each, a multiple of 32; b panels of floats as for
  /// gemm_f32, blocked; scratch [split_scratch(rows, panels)] floats, aligned to 64 bytes.
  void (*gemm_split)(const GemmTask&, void* scratch) = nullptr;
  /// x [k] to its three parts of `part` values each, filled up with zeros to a multiple of 32.
  void (*split)(const float* x, size_t k, size_t part, uint16_t* out) = nullptr;

  /// A panel [k] of the int8 layout to one of the bf16 layout, filled up to a multiple of 4 along
  /// K, where gemm_bf16 is the faster one: tiles compute the sums of a group of int8 in no time,
  /// and what follows each group takes many times longer. nullptr: gemm_int8 is best.
  void (*int8_to_bf16)(const void* panel, size_t k, void* out) = nullptr;

  /// softmax(Q K^T) V of bf16 with sums of floats, where gemm_bf16 is; no probabilities.
  void (*attention_bf16)(const AttentionTask&) = nullptr;

  /// Bytes of each value that to_int8 writes.
  size_t int8_bytes = 1;

  /// Bytes of panels that gemm_bf16 takes best at once, as they stay in the second-level cache;
  /// 0: three panels, as gemm_int8.
  size_t narrow_bytes = 0;
};

/// The table of the best instruction set of this CPU (base/cpu.h), chosen once.
const KernelTable& kernels();
/// Panels of `bytes` each that its gemm_bf16 takes best at once.
size_t narrow_group(size_t bytes);

/// The table of one set; the CPU must be able to run it.
const KernelTable& kernels_plain();
const KernelTable& kernels_avx2();
const KernelTable& kernels_avx2_vnni();
const KernelTable& kernels_avx512();
const KernelTable& kernels_avx512_vnni();
const KernelTable& kernels_avx512_bf16();
const KernelTable& kernels_amx();

constexpr size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }
/// Sums of gemm_split that are not done.
constexpr size_t split_scratch(size_t rows, size_t panels) {
  return round_up(rows, 32) * round_up(panels, 2) * kPanel;
}
/// Bytes of a panel that int8_to_bf16 writes, or bf16_to_f32.
constexpr size_t int8_as_bf16(size_t k) { return round_up(k, 4) * kPanel * 2; }
constexpr size_t bf16_as_f32(size_t k) { return round_up(k, 2) * kPanel * sizeof(float); }

constexpr size_t kQueryBlock = 32;
constexpr size_t attention_scratch(size_t n, size_t d) {
  return round_up(n, kPanel) * (d + kQueryBlock) + round_up(d, kPanel) * (n + kQueryBlock) +
         kQueryBlock;
}
/// The same for attention_bf16.
constexpr size_t attention_bf16_scratch(size_t n, size_t d) {
  const size_t n32 = round_up(n, 32), d32 = round_up(d, 32);
  return kQueryBlock * (n32 + d32 + 1) + (2 * n32 * d32 + kQueryBlock * (n32 + d32)) / 2;
}

}  // namespace bert
