// Part of kernels_neon_i8mm.cpp: products by instructions that multiply matrices (SMMLA, BFMMLA).
// One instruction adds x [2, 8 bytes] w [8 bytes, 2] to four sums [2, 2]. A step along K is four
// bytes, of int8 and of bf16, so both share this.

/// The sums stay in registers only if what is called with them is part of the caller.
#define INLINE [[gnu::always_inline]] inline

/// Two steps of two rows.
template <bool Both>
inline Ints pair_of_rows(const char* first, const char* second) {
  int64_t rows[2] = {0, 0};
  __builtin_memcpy(rows, first, Both ? 8 : 4);
  __builtin_memcpy(rows + 1, second, Both ? 8 : 4);
  return (Ints)int64x2_t{rows[0], rows[1]};
}

/// Adds two steps along K, or the last one, to the sums of MR rows. The last row of an odd number
/// is its own pair.
template <typename Op, bool Both, size_t MR, size_t NV>
INLINE void add_steps(const char* a, size_t lda, const char* b, size_t panel_stride,
                      typename Op::Sum (&sum)[(MR + 1) / 2][2 * NV]) {
  constexpr size_t kPairs = (MR + 1) / 2, kStep = 4 * kPanel;
  Ints x[kPairs];
  UNROLL for (size_t p = 0; p < kPairs; ++p) {
    x[p] = pair_of_rows<Both>(a + 2 * p * lda, a + smaller(2 * p + 1, MR - 1) * lda);
  }
  UNROLL for (size_t j = 0; j < NV; ++j) {
    const char* from = b + j / kVecsPerPanel * panel_stride + j % kVecsPerPanel * sizeof(Ints);
    const int32x4_t one = load_ints(from);
    const int32x4_t two = Both ? load_ints(from + kStep) : Ints{};
    const Ints low = vzip1q_s32(one, two), high = vzip2q_s32(one, two);
    UNROLL for (size_t p = 0; p < kPairs; ++p) {
      Op::multiply_add(sum[p][2 * j], x[p], low);
      Op::multiply_add(sum[p][2 * j + 1], x[p], high);
    }
  }
}

/// Calls put(r, j, sums) for vector j of each row.
template <typename Sum, size_t MR, size_t NV, typename Put>
INLINE void put_rows(const Sum (&sum)[(MR + 1) / 2][2 * NV], Put&& put) {
  UNROLL for (size_t r = 0; r < MR; ++r) {
    UNROLL for (size_t j = 0; j < NV; ++j) {
      const auto low = (int64x2_t)sum[r / 2][2 * j], high = (int64x2_t)sum[r / 2][2 * j + 1];
      put(r, j, (Sum)(r % 2 ? vzip2q_s64(low, high) : vzip1q_s64(low, high)));
    }
  }
}

struct Smmla {
  using Value = int8_t;
  using Sum = Ints;

  static void multiply_add(Ints& sum, Ints x, Ints w) {
    asm("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(w));
  }

  template <size_t MR, size_t NV>
  static void add_group(const GemmTask& t, const int8_t* a, const char* b, size_t steps,
                        Ints (&sum)[MR][NV]) {
    const char* x = reinterpret_cast<const char*>(a);
    Ints part[(MR + 1) / 2][2 * NV] = {};
    for (; steps >= 2; steps -= 2, x += 8, b += 8 * kPanel) {
      add_steps<Smmla, true, MR, NV>(x, t.lda, b, t.panel_stride, part);
    }
    if (steps > 0) add_steps<Smmla, false, MR, NV>(x, t.lda, b, t.panel_stride, part);
    put_rows<Ints, MR, NV>(part, [&](size_t r, size_t j, Ints sums) { sum[r][j] = sums; });
  }
};

/// c = a b with a and b of bf16. BFMMLA rounds each sum of two products to odd, treats denormal
/// numbers as zeros, and gives each sum the same operations whatever row is beside it.
struct Bfmmla {
  using AllRows = TileRows;
  using Sum = Vec;
  static constexpr size_t kStep = 4;

  static void multiply_add(Vec& sum, Ints x, Ints w) {
    asm("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(x), "w"(w));
  }

  template <size_t MR, size_t NP>
  static void tile(const GemmTask& t, size_t row, float* tile, size_t ld, Ahead ahead) {
    constexpr size_t NV = NP * kVecsPerPanel;
    const size_t lda = t.lda * sizeof(uint16_t);
    const char* a = static_cast<const char*>(t.a) + row * lda;
    const char* b = static_cast<const char*>(t.b);
    Vec sum[(MR + 1) / 2][2 * NV] = {};
    size_t steps = (t.k + 1) / 2;
    for (; steps >= 2; steps -= 2, a += 8, b += 8 * kPanel) {
      ahead.fetch();
      add_steps<Bfmmla, true, MR, NV>(a, lda, b, t.panel_stride, sum);
    }
    if (steps > 0) add_steps<Bfmmla, false, MR, NV>(a, lda, b, t.panel_stride, sum);
    put_rows<Vec, MR, NV>(
        sum, [&](size_t r, size_t j, Vec sums) { store(tile + r * ld + j * kLanes, sums); });
  }
};
