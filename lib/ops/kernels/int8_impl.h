// Part of kernels_{avx2,avx512,neon_dotprod,neon_i8mm}.cpp: products of int8, group by group. The
// float sums over groups are in memory; the registers hold the exact sums of one group.

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

/// A set with an instruction that sums, in each lane, the products of four bytes: multiply_add(sum,
/// x, w), where x is what four_bytes gives.
template <typename Byte, auto multiply_add>
struct Fours {
  using Value = Byte;

  template <size_t MR, size_t NV>
  static void add_group(const GemmTask& t, const Byte* a, const char* b, size_t steps,
                        Ints (&sum)[MR][NV]) {
    for (size_t i = 0; i < steps; ++i, a += 4, b += 64) {
      Ints w[NV];
      UNROLL for (size_t j = 0; j < NV; ++j) w[j] = load_ints(Int8<Fours>::vec_at(t, b, j));
      UNROLL for (size_t r = 0; r < MR; ++r) {
        const auto x = four_bytes(a + r * t.lda);
        UNROLL for (size_t j = 0; j < NV; ++j) multiply_add(sum[r][j], x, w[j]);
      }
    }
  }
};
