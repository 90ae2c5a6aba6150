// Part of kernels_plain.cpp and kernels_neon.cpp: products of int8 in floats, of which Vec has 4.

/// int8 in floats: the sums of a group are whole numbers below 2^24, which floats hold exactly.
void to_int8_floats(const float* x, size_t k, void* out, Int8Scale* scales) {
  float* to = static_cast<float*>(out);
  for (size_t i = 0; i < k; i += kInt8Group) {
    int8_t bytes[kInt8Group];
    const size_t count = smaller(kInt8Group, k - i);
    *scales++ = to_int8_group(x + i, count, bytes);
    for (size_t j = 0; j < round_up(count, 4); ++j) *to++ = static_cast<uint8_t>(bytes[j]);
  }
}

/// [count / 4][16][4] bytes to [count][16] floats.
inline void widen(const char* bytes, size_t count, float* out) {
  for (size_t i = 0; i < count; i += 4, bytes += 4 * kPanel) {
    for (size_t n = 0; n < kPanel; n += kLanes) {
      IntVec four;
      __builtin_memcpy(&four, bytes + 4 * n, sizeof four);
      UNROLL for (int f = 0; f < 4; ++f) {
        const IntVec one = four << (24 - 8 * f) >> 24;
        store(out + (i + f) * kPanel + n, __builtin_convertvector(one, Vec));
      }
    }
  }
}

struct Int8 {
  using SomeRows = TileRows;
  using AllRows = TileRows;
  static constexpr size_t kTilesAtOnce = 16;  ///< they share a widened group of weights

  template <size_t NP, size_t... R>
  static void run(const GemmTask& t, size_t row, size_t rows, float* tile, size_t ld,
                  Rows<R...> all) {
    constexpr size_t kWidth = NP * kPanel, kWide = kInt8Group * kPanel;
    const size_t groups = int8_groups(t.k);
    const Int8Scale* scales = t.a_scales + row * groups;
    const float* a = static_cast<const float*>(t.a) + row * t.lda;
    const char* b = static_cast<const char*>(t.b);
    for (size_t k = 0; k < t.k; k += kInt8Group, ++scales) {
      const size_t count = round_up(smaller(kInt8Group, t.k - k), 4);
      float weights[NP * kWide], sums[rows_in(Rows<R...>{}) * kWidth];
      for (size_t p = 0; p < NP; ++p) {
        widen(b + p * t.panel_stride + 8 * kPanel, count, weights + p * kWide);
      }
      in_pieces(rows, sizeof...(R), [&](size_t r, size_t height) {
        tile_of<NP, false>(height, all)(a + r * t.lda + k, t.lda, weights, kWide, kPanel, count,
                                        sums, kWidth, false, {});
        for (size_t i = 0; i < height; ++i) {
          float* to = tile + (r + i) * ld;
          for (size_t p = 0; p < NP; ++p) {
            add_group(sums + i * kWidth + p * kPanel, b + p * t.panel_stride,
                      scales[(r + i) * groups], k > 0, to + p * kPanel);
          }
        }
      });
      b += (8 + count) * kPanel;
    }
  }

  static void add_group(const float* sum, const char* head, const Int8Scale& s, bool accumulate,
                        float* to) {
    for (size_t n = 0; n < kPanel; n += kLanes) {
      Vec scale;
      IntVec excess;
      __builtin_memcpy(&scale, head + 4 * n, sizeof scale);
      __builtin_memcpy(&excess, head + 4 * (kPanel + n), sizeof excess);
      const Vec exact = load(sum + n) - __builtin_convertvector(excess, Vec) * s.zero;
      store(to + n, (accumulate ? load(to + n) : set1(0.f)) + exact * scale * s.scale);
    }
  }
};
