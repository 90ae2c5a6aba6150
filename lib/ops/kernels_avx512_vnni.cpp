#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "ops/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {
#include "ops/vec_avx512.h"
// Follows the vector type.
#include "ops/kernels_impl.h"
// Follows them.
#include "ops/bf16_impl.h"

inline int32_t load_int(const void* p) {
  int32_t value;
  __builtin_memcpy(&value, p, sizeof value);
  return value;
}

/// sum += the products of four unsigned by four signed bytes in each lane. Assembly, because g++ 12
/// copies the accumulators of its intrinsic through the stack (measured: half the speed).
inline void multiply_add(__m512i& sum, __m512i x, __m512i w) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
}

/// Unsigned activations by signed weights, group by group; both the exact sums of a group and the
/// float sums of the groups stay in registers.
struct Int8 {
  using AllRows = Rows<1, 2, 3, 4>;

  template <size_t MR, size_t NP>
  static void tile(const GemmTask& t, size_t row, float* tile) {
    const size_t groups = int8_groups(t.k);
    const Int8Scale* scales = t.a_scales + row * groups;
    const int8_t* a = static_cast<const int8_t*>(t.a) + row * t.lda;
    const char* b = static_cast<const char*>(t.b);
    Vec total[MR][NP];
    UNROLL for (size_t r = 0; r < MR; ++r) {
      UNROLL for (size_t j = 0; j < NP; ++j) total[r][j] = set1(0.f);
    }
    for (size_t k = 0; k < t.k; k += kInt8Group, ++scales) {
      const char* head = b;
      b += 128;
      __m512i sum[MR][NP];
      UNROLL for (size_t r = 0; r < MR; ++r) {
        UNROLL for (size_t j = 0; j < NP; ++j) sum[r][j] = _mm512_setzero_si512();
      }
      const size_t steps = (smaller(kInt8Group, t.k - k) + 3) / 4;
      for (size_t i = 0; i < steps; ++i, a += 4, b += 64) {
        __m512i w[NP];
        UNROLL for (size_t j = 0; j < NP; ++j) w[j] = _mm512_loadu_si512(b + j * t.panel_stride);
        UNROLL for (size_t r = 0; r < MR; ++r) {
          const __m512i x = _mm512_set1_epi32(load_int(a + r * t.lda));
          UNROLL for (size_t j = 0; j < NP; ++j) multiply_add(sum[r][j], x, w[j]);
        }
      }
      UNROLL for (size_t j = 0; j < NP; ++j) {
        const Vec scale = _mm512_loadu_ps(head + j * t.panel_stride);
        const Vec excess = _mm512_cvtepi32_ps(_mm512_loadu_si512(head + j * t.panel_stride + 64));
        UNROLL for (size_t r = 0; r < MR; ++r) {
          const Int8Scale& s = scales[r * groups];
          // Exact: whole numbers below 2^24.
          const Vec exact = sub(_mm512_cvtepi32_ps(sum[r][j]), mul(excess, set1(s.zero)));
          total[r][j] = add(total[r][j], mul(mul(exact, scale), set1(s.scale)));
        }
      }
    }
    UNROLL for (size_t r = 0; r < MR; ++r) {
      UNROLL for (size_t j = 0; j < NP; ++j) store(tile + (r * NP + j) * kPanel, total[r][j]);
    }
  }
};

struct BFloat16 {
  using AllRows = TileRows;

  template <size_t MR, size_t NP>
  static void tile(const GemmTask& t, size_t row, float* tile) {
    const uint16_t* a = static_cast<const uint16_t*>(t.a) + row * t.lda;
    const char* b = static_cast<const char*>(t.b);
    Vec sum[MR][NP];
    UNROLL for (size_t r = 0; r < MR; ++r) {
      UNROLL for (size_t j = 0; j < NP; ++j) sum[r][j] = set1(0.f);
    }
    const size_t steps = (t.k + 1) / 2;
    for (size_t i = 0; i < steps; ++i) {
      __m512bh w[NP];
      UNROLL for (size_t j = 0; j < NP; ++j) {
        w[j] = (__m512bh)_mm512_loadu_si512(b + j * t.panel_stride);
      }
      UNROLL for (size_t r = 0; r < MR; ++r) {
        const __m512bh x = (__m512bh)_mm512_set1_epi32(load_int(a + r * t.lda + 2 * i));
        UNROLL for (size_t j = 0; j < NP; ++j) sum[r][j] = _mm512_dpbf16_ps(sum[r][j], x, w[j]);
      }
      b += 64;
    }
    UNROLL for (size_t r = 0; r < MR; ++r) {
      UNROLL for (size_t j = 0; j < NP; ++j) store(tile + (r * NP + j) * kPanel, sum[r][j]);
    }
  }
};

}  // namespace

const KernelTable& kernels_avx512_vnni() {
  static const KernelTable table = [] {
    KernelTable vnni = {
        pack_f32_impl,     pack_bf16_impl, pack_int8_impl,     gemm<F32>,     gemm<Whole<BFloat16>>,
        gemm<Whole<Int8>>, to_bf16_impl,   to_int8_impl<true>, to_float_impl, layer_norm_impl,
        add_impl,          activate_impl,  softmax_impl,       dot_impl,      attention_impl,
        bf16_columns_impl, bf16_rows_impl, bf16_transpose_impl};
    vnni.attention_bf16 = attention_bf16_impl<gemm<Whole<BFloat16>>>;
    return vnni;
  }();
  return table;
}

}  // namespace bert
#endif
