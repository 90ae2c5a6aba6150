// Part of kernels_avx2.cpp and kernels_avx512.cpp: products of int8, group by group. The float sums
// over groups are in memory; the registers hold the exact sums of one group.

/// K::add_group<MR, NV>(t, a, b, steps, sum) adds the products of `steps` steps of four values.
/// K::Value is the type that to_int8 writes.
template <typename K>
struct Int8 {
  using AllRows = Int8Rows;
  static constexpr size_t kStep = kInt8Group;

  template <size_t MR, size_t NP>
  static void tile(const GemmTask& t, size_t row, float* tile, size_t ld, Ahead ahead) {
    constexpr size_t NV = NP * kVecsPerPanel;
    const size_t groups = int8_groups(t.k);
    const Int8Scale* scales = t.a_scales + row * groups;
    const auto* a = static_cast<const typename K::Value*>(t.a) + row * t.lda;
    const char* b = static_cast<const char*>(t.b);
    for (size_t k = 0; k < t.k; k += kInt8Group, ++scales) {
      ahead.fetch();
      const size_t count = round_up(smaller(kInt8Group, t.k - k), 4);
      Ints sum[MR][NV] = {};
      K::template add_group<MR, NV>(t, a + k, b + 8 * kPanel, count / 4, sum);
      UNROLL for (size_t j = 0; j < NV; ++j) {
        const char* head = vec_at(t, b, j);
        const Vec scale = load(reinterpret_cast<const float*>(head));
        const Vec excess = floats_of(load_ints(head + 4 * kPanel));
        UNROLL for (size_t r = 0; r < MR; ++r) {
          const Int8Scale& s = scales[r * groups];
          float* to = tile + r * ld + j * kLanes;
          const Vec before = k > 0 ? load(to) : set1(0.f);
          // Exact, since floats hold all whole numbers below 2^24.
          const Vec exact = sub(floats_of(sum[r][j]), mul(excess, set1(s.zero)));
          store(to, add(before, mul(mul(exact, scale), set1(s.scale))));
        }
      }
      b += (8 + count) * kPanel;
    }
  }

  static const char* vec_at(const GemmTask& t, const char* p, size_t j) {
    return p + j / kVecsPerPanel * t.panel_stride + j % kVecsPerPanel * sizeof(Ints);
  }
};

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
