// Part of kernels_avx2.cpp and kernels_avx512.cpp, after int8_impl.h: products of int8 without
// VNNI.

/// Without VNNI, no instruction sums products of bytes exactly: sums of 16 bits overflow. So both
/// sides become 16 bits: inputs here, weights in the kernel. Of every four values, the first and
/// third come before the second and fourth, as even_bytes and odd_bytes give the weights.
void to_int8_wide(const float* x, size_t k, void* out, Int8Scale* scales) {
  int8_t bytes[kInt8Group];
  char* to = static_cast<char*>(out);
  for (size_t i = 0; i < k; i += kInt8Group) {
    const size_t count = smaller(kInt8Group, k - i);
    *scales++ = to_int8_group(x + i, count, bytes);
    for (size_t j = 0; j < count; j += 4, to += 8) {
      const __m128i wide = _mm_cvtepu8_epi16(_mm_cvtsi32_si128(load_int(bytes + j)));
      const int64_t ordered = _mm_cvtsi128_si64(_mm_shufflelo_epi16(wide, 0xd8));
      __builtin_memcpy(to, &ordered, sizeof ordered);
    }
  }
}

struct Wide {
  using Value = int16_t;

  template <size_t MR, size_t NV>
  static void add_group(const GemmTask& t, const int16_t* a, const char* b, size_t steps,
                        Ints (&sum)[MR][NV]) {
    for (size_t i = 0; i < steps; ++i, a += 4, b += 64) {
      UNROLL for (size_t half = 0; half < 2; ++half) {
        Ints x[MR];
        UNROLL for (size_t r = 0; r < MR; ++r) x[r] = set1(load_int(a + r * t.lda + 2 * half));
        UNROLL for (size_t j = 0; j < NV; ++j) {
          const Ints four = load_ints(Int8<Wide>::vec_at(t, b, j));
          const Ints w = half ? odd_bytes(four) : even_bytes(four);
          UNROLL for (size_t r = 0; r < MR; ++r) add_pairs(sum[r][j], w, x[r]);
        }
      }
    }
  }
};
