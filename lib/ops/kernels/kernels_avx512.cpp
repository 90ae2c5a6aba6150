#if defined(__AVX512F__)
#include <immintrin.h>

#include "ops/gradient_kernels.h"
#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {
#include "ops/kernels/vec_avx512.h"
// After the vector type, which it uses.
#include "ops/kernels/kernels_impl.h"
// After the kernels, which it uses.
#include "ops/kernels/gradient_kernels_impl.h"
inline Vec sqrt_v(Vec x) { return _mm512_sqrt_ps(x); }

using Ints = __m512i;
inline Ints load_ints(const char* p) { return _mm512_loadu_si512(p); }
inline Ints set1(int32_t x) { return _mm512_set1_epi32(x); }
inline Vec floats_of(Ints x) { return _mm512_cvtepi32_ps(x); }
inline Ints four_bytes(const void* p) { return set1(load_int(p)); }
/// Of every four signed bytes the first and third, or the second and fourth, as 16 bits.
inline Ints even_bytes(Ints x) { return _mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8); }
inline Ints odd_bytes(Ints x) { return _mm512_srai_epi16(x, 8); }
/// In each lane, sum += the products of two pairs of 16 bits. Assembly, because g++ 12 would
/// reorder the additions and keep the sums in memory.
inline void add_pairs(Ints& sum, Ints a, Ints b) {
  asm("vpaddd %1, %0, %0" : "+v"(sum) : "v"(_mm512_madd_epi16(a, b)));
}
using Int8Rows = Rows<1, 2, 3, 4, 5, 6>;
// After Ints and its functions, which it uses.
#include "ops/kernels/int8_impl.h"
//
#include "ops/kernels/int8_wide_impl.h"
}  // namespace

const GradientTable& gradient_kernels_avx512() { return kGradientTable; }

const KernelTable& kernels_avx512() {
  static const KernelTable table = table_with<Whole<Int8<Wide>>>(to_int8_wide, sizeof(int16_t));
  return table;
}

}  // namespace bert
#endif
