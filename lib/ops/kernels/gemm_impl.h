// Part of kernels_impl.h: products with panels of weights.

/// Sums over K are cut into runs of equal size, at most this long, which are added at the end:
/// shorter chains round less. The cut depends only on K. The panels of one run stay in the
/// first-level cache.
constexpr size_t kMaxChain = 192;

/// With at most so many rows, the first tile of rows waits for memory, so it prefetches kNear bytes
/// ahead. A larger distance, or a prefetch into the second-level cache only, was slower on CPUs
/// with AMX.
constexpr size_t kWaitingRows = 64;
constexpr size_t kNear = 2048;

/// Prefetches the next panels while the current ones are computed, a little at each step along K
/// (at each group of int8): a burst would delay the loads that are needed now. If many tiles of
/// rows share the work, each step is small and goes to the first-level cache; larger steps fit only
/// into the second-level cache.
struct Ahead {
  const char* next = nullptr;
  size_t step = 0;

  void fetch() {
    if (step <= 64) {
      __builtin_prefetch(next);
    } else {
      for (size_t i = 0; i < step; i += 64) __builtin_prefetch(next + i, 0, 2);
    }
    next += step;
  }
};

/// The share of a tile of `rows` rows that computes NP panels in `steps` steps.
template <size_t NP>
inline Ahead ahead_of(const GemmTask& t, size_t row, size_t rows, size_t steps) {
  const size_t bytes = NP * t.panel_stride;
  const char* following = static_cast<const char*>(t.b) + bytes;
  return {following + bytes * row / t.rows, bytes * rows / t.rows / steps + 1};
}

/// c [MR, NP * 16] (+)= a [MR, k] b [k, NP * 16], one chain of multiply-adds per element. Waits:
/// the tile waits for b; see kWaitingRows.
template <size_t MR, size_t NP, bool Waits>
void tile_f32(const float* a, size_t lda, const float* b, size_t panel_floats, size_t step,
              size_t k, float* c, size_t ldc, bool accumulate, Ahead ahead) {
  constexpr size_t NV = NP * kVecsPerPanel;
  Vec sum[MR][NV];
  UNROLL for (size_t r = 0; r < MR; ++r) {
    UNROLL for (size_t j = 0; j < NV; ++j) sum[r][j] = set1(0.f);
  }
  for (size_t i = 0; i < k; ++i) {
    Vec w[NV];
    UNROLL for (size_t j = 0; j < NV; ++j) {
      const float* from = b + j / kVecsPerPanel * panel_floats + j % kVecsPerPanel * kLanes;
      w[j] = load(from);
      if (Waits && j % kVecsPerPanel == 0) __builtin_prefetch(from + kNear / sizeof(float));
    }
    if constexpr (!Waits) ahead.fetch();
    UNROLL for (size_t r = 0; r < MR; ++r) {
      const auto x = factor(a[r * lda + i]);
      UNROLL for (size_t j = 0; j < NV; ++j) sum[r][j] = fma(x, w[j], sum[r][j]);
    }
    b += step;
  }
  UNROLL for (size_t r = 0; r < MR; ++r) {
    UNROLL for (size_t j = 0; j < NV; ++j) {
      float* to = c + r * ldc + j * kLanes;
      store(to, accumulate ? add(load(to), sum[r][j]) : sum[r][j]);
    }
  }
}

using TileF32 = void (*)(const float*, size_t, const float*, size_t, size_t, size_t, float*, size_t,
                         bool, Ahead);

/// tile_f32<rows, NP, Waits> for a number of rows known at run time.
template <size_t NP, bool Waits, size_t... R>
inline TileF32 tile_of(size_t rows, Rows<R...>) {
  static constexpr TileF32 kTiles[] = {tile_f32<R, NP, Waits>...};
  return kTiles[rows - 1];
}

/// Weights of 16 bits: in each lane one output, with two steps of K side by side.
using Pairs = uint32_t __attribute__((vector_size(sizeof(Vec))));
inline Pairs load_pairs(const char* p) {
  Pairs pairs;
  __builtin_memcpy(&pairs, p, sizeof pairs);
  return pairs;
}
inline Vec even_of(Pairs x) { return (Vec)(x << 16); }
inline Vec odd_of(Pairs x) { return (Vec)(x & 0xffff0000u); }

/// Adds one step of K; `half` is even_of or odd_of.
template <Vec (*half)(Pairs), size_t MR, size_t NV>
inline void add_step(const float* a, size_t lda, const char* b, size_t panel_bytes,
                     Vec (&sum)[MR][NV]) {
  // Makes both steps load the pairs from memory: kept, they would take registers from the sums.
  asm("" : "+r"(b));
  Vec w[NV];
  UNROLL for (size_t j = 0; j < NV; ++j) {
    w[j] = half(load_pairs(b + j / kVecsPerPanel * panel_bytes + j % kVecsPerPanel * sizeof(Vec)));
  }
  UNROLL for (size_t r = 0; r < MR; ++r) {
    const auto x = factor(a[r * lda]);
    UNROLL for (size_t j = 0; j < NV; ++j) sum[r][j] = fma(x, w[j], sum[r][j]);
  }
}

/// tile_f32 with panels of the bf16 layout, from step `first` of K on. The same bits as with panels
/// that were widened before.
template <size_t MR, size_t NP, bool Waits>
void tile_bf16(const float* a, size_t lda, const char* b, size_t panel_bytes, size_t first,
               size_t k, float* c, size_t ldc, bool accumulate, Ahead ahead) {
  constexpr size_t NV = NP * kVecsPerPanel, kStep = 4 * kPanel;
  Vec sum[MR][NV];
  UNROLL for (size_t r = 0; r < MR; ++r) {
    UNROLL for (size_t j = 0; j < NV; ++j) sum[r][j] = set1(0.f);
  }
  a += first;
  b += first / 2 * kStep;
  const float* const end = a + k;
  if (first % 2 != 0) {
    add_step<odd_of>(a, lda, b, panel_bytes, sum);
    ++a;
    b += kStep;
  }
  for (; a + 1 < end; a += 2, b += kStep) {
    if constexpr (Waits) {
      UNROLL for (size_t p = 0; p < NP; ++p) __builtin_prefetch(b + p * panel_bytes + kNear);
    } else {
      ahead.fetch();
    }
    add_step<even_of>(a, lda, b, panel_bytes, sum);
    add_step<odd_of>(a + 1, lda, b, panel_bytes, sum);
  }
  if (a < end) add_step<even_of>(a, lda, b, panel_bytes, sum);
  UNROLL for (size_t r = 0; r < MR; ++r) {
    UNROLL for (size_t j = 0; j < NV; ++j) {
      float* to = c + r * ldc + j * kLanes;
      store(to, accumulate ? add(load(to), sum[r][j]) : sum[r][j]);
    }
  }
}

template <int A>
void epilogue_as(const GemmTask& t, const float* tile, size_t row, size_t rows, size_t ld) {
  for (size_t r = 0; r < rows; ++r) {
    float* c = t.c + (row + r) * t.ldc;
    const float* residual = t.residual ? t.residual + (row + r) * t.ldr : nullptr;
    each(t.cols, [&](size_t j, auto part) {
      Vec y = load(tile + r * ld + j);
      if (t.bias) y = add(y, load(t.bias + j));
      y = act_v<A>(y);
      if (residual) y = add(y, load_n(residual + j, part));
      store_n(c + j, y, part);
    });
  }
}

/// The same for whole panels, in as few instructions as possible, because the next tile waits for
/// it.
template <int A, bool Residual, size_t NP>
void finish_as(const GemmTask& t, const float* tile, size_t row, size_t rows) {
  constexpr size_t NV = NP * kVecsPerPanel;
  Vec bias[NV];
  UNROLL for (size_t j = 0; j < NV; ++j) bias[j] = load(t.bias + j * kLanes);
  float* c = t.c + row * t.ldc;
  const float* residual = t.residual + (Residual ? row * t.ldr : 0);
  for (const float* end = tile + rows * NP * kPanel; tile < end; tile += NP * kPanel) {
    UNROLL for (size_t j = 0; j < NV; ++j) {
      Vec y = act_v<A>(add(load(tile + j * kLanes), bias[j]));
      if constexpr (Residual) y = add(y, load(residual + j * kLanes));
      store(c + j * kLanes, y);
    }
    c += t.ldc;
    if constexpr (Residual) residual += t.ldr;
  }
}

/// Writes t.c from the sums of a tile [rows, ld]: bias, activation, residual.
void epilogue(const GemmTask& t, const float* tile, size_t row, size_t rows, size_t ld) {
  switch (t.activation) {
    case kGelu:
      return epilogue_as<kGelu>(t, tile, row, rows, ld);
    case kGeluNear:
      return epilogue_as<kGeluNear>(t, tile, row, rows, ld);
    case kGeluTanh:
      return epilogue_as<kGeluTanh>(t, tile, row, rows, ld);
    case kGeluQuick:
      return epilogue_as<kGeluQuick>(t, tile, row, rows, ld);
    case kRelu:
      return epilogue_as<kRelu>(t, tile, row, rows, ld);
    case kSilu:
      return epilogue_as<kSilu>(t, tile, row, rows, ld);
    case kTanh:
      return epilogue_as<kTanh>(t, tile, row, rows, ld);
    case kSigmoid:
      return epilogue_as<kSigmoid>(t, tile, row, rows, ld);
    default:
      return epilogue_as<kNone>(t, tile, row, rows, ld);
  }
}

/// The same from a tile [rows, NP * 16], by finish_as if it fits.
template <size_t NP>
void finish(const GemmTask& t, const float* tile, size_t row, size_t rows) {
  if (t.bias && t.cols == NP * kPanel) {
    const int act = t.activation;
    if (act == kNone && t.residual) return finish_as<kNone, true, NP>(t, tile, row, rows);
    if (act == kNone) return finish_as<kNone, false, NP>(t, tile, row, rows);
    if (act == kGelu && !t.residual) return finish_as<kGelu, false, NP>(t, tile, row, rows);
    if (act == kGeluNear && !t.residual) return finish_as<kGeluNear, false, NP>(t, tile, row, rows);
  }
  epilogue(t, tile, row, rows, NP * kPanel);
}

/// Calls f(first, count) for pieces of [0, n) of at most `most`, as equal as possible.
template <typename F>
inline void in_pieces(size_t n, size_t most, F&& f) {
  const size_t pieces = (n + most - 1) / most;
  for (size_t p = 0, first = 0; p < pieces; ++p) {
    const size_t count = n / pieces + (p < n % pieces ? 1 : 0);
    f(first, count);
    first += count;
  }
}

/// The part of task `t` for `panels` panels from `first` on.
inline GemmTask panels_of(const GemmTask& t, size_t first, size_t panels) {
  GemmTask part = t;
  part.b = static_cast<const char*>(t.b) + first * t.panel_stride;
  part.panels = panels;
  part.cols = smaller(panels * kPanel, t.cols - first * kPanel);
  part.c = t.c + first * kPanel;
  if (t.bias) part.bias = t.bias + first * kPanel;
  if (t.residual) part.residual = t.residual + first * kPanel;
  return part;
}

/// Computes the sums of some rows: run<NP>(t, row, rows, tile, ld, all) writes them to `tile`
/// [rows, ld].
struct F32 {
  using SomeRows = OneTile;
  using AllRows = TileRows;
  static constexpr size_t kTilesAtOnce = 4;  ///< they share a run of K while its panels are in
                                             ///< cache
  template <size_t NP, size_t... R>
  static void run(const GemmTask& t, size_t row, size_t rows, float* tile, size_t ld,
                  Rows<R...> all) {
    const float* a = static_cast<const float*>(t.a) + row * t.lda;
    const float* b = static_cast<const float*>(t.b);
    Ahead ahead = ahead_of<NP>(t, row, sizeof...(R), t.k);
    in_pieces(t.k, kMaxChain, [&](size_t k, size_t count) {
      in_pieces(rows, sizeof...(R), [&](size_t r, size_t height) {
        const bool waits = r == 0 && t.rows <= kWaitingRows;
        const TileF32 run_tile =
            waits ? tile_of<NP, true>(height, all) : tile_of<NP, false>(height, all);
        run_tile(a + r * t.lda + k, t.lda, b + k * t.step, t.panel_stride / sizeof(float), t.step,
                 count, tile + r * ld, ld, k > 0, ahead);
        ahead.next += count * ahead.step;
      });
    });
  }
};

/// The same with panels of bf16.
struct Bf16AsF32 {
  using SomeRows = OneTileOfHalfs;
  using AllRows = TileOfHalfs;
  static constexpr size_t kTilesAtOnce = 4;
  template <size_t NP, size_t... R>
  static void run(const GemmTask& t, size_t row, size_t rows, float* tile, size_t ld, Rows<R...>) {
    using Run = void (*)(const float*, size_t, const char*, size_t, size_t, size_t, float*, size_t,
                         bool, Ahead);
    static constexpr Run kTiles[] = {tile_bf16<R, NP, false>...};
    static constexpr Run kWaiting[] = {tile_bf16<R, NP, true>...};
    const float* a = static_cast<const float*>(t.a) + row * t.lda;
    const char* b = static_cast<const char*>(t.b);
    Ahead ahead = ahead_of<NP>(t, row, sizeof...(R), (t.k + 1) / 2);
    in_pieces(t.k, kMaxChain, [&](size_t k, size_t count) {
      in_pieces(rows, sizeof...(R), [&](size_t r, size_t height) {
        const bool waits = row + r == 0 && t.rows <= kWaitingRows;
        const Run run_tile = (waits ? kWaiting : kTiles)[height - 1];
        run_tile(a + r * t.lda, t.lda, b, t.panel_stride, k, count, tile + r * ld, ld, k > 0,
                 ahead);
        ahead.next += count / 2 * ahead.step;
      });
    });
  }
};

/// Prefetches the part of c that these rows will write.
template <size_t NP>
inline void fetch_places(const GemmTask& t, size_t row, size_t rows) {
  for (size_t r = row; r < row + rows; ++r) {
    UNROLL for (size_t j = 0; j < NP; ++j) __builtin_prefetch(t.c + r * t.ldc + j * kPanel, 1);
  }
}

/// The same for kernels that sum over all of K at once, kStep values at each step: K::tile<MR,
/// NP>(t, row, tile, ld, ahead).
template <typename K>
struct Whole {
  using SomeRows = typename K::AllRows;
  using AllRows = typename K::AllRows;
  static constexpr size_t kTilesAtOnce = 1;
  template <size_t NP, size_t... R>
  static void run(const GemmTask& t, size_t row, size_t rows, float* tile, size_t ld, Rows<R...>) {
    using Run = void (*)(const GemmTask&, size_t, float*, size_t, Ahead);
    static constexpr Run kTiles[] = {K::template tile<R, NP>...};
    fetch_places<NP>(t, row, rows);
    const size_t steps = (t.k + K::kStep - 1) / K::kStep;
    kTiles[rows - 1](t, row, tile, ld, ahead_of<NP>(t, row, rows, steps));
  }
};

template <typename K, size_t NP, size_t... R>
void gemm_panels(const GemmTask& t, Rows<R...> all) {
  constexpr size_t kRows = K::kTilesAtOnce * sizeof...(R);
  alignas(64) float tile[kRows * NP * kPanel];
  // The sums are the result, as in attention.
  const bool done = !t.bias && !t.residual && t.activation == kNone && t.cols == NP * kPanel;
  in_pieces(t.rows, kRows, [&](size_t row, size_t rows) {
    if (done) return K::template run<NP>(t, row, rows, t.c + row * t.ldc, t.ldc, all);
    K::template run<NP>(t, row, rows, tile, NP * kPanel, all);
    finish<NP>(t, tile, row, rows);
  });
}

template <typename K, size_t Most, typename AllRows>
void gemm_rows(const GemmTask& t, AllRows all) {
  in_pieces(t.panels, Most, [&](size_t first, size_t count) {
    const GemmTask part = panels_of(t, first, count);
    if constexpr (Most >= 4) {
      if (count == 4) return gemm_panels<K, 4>(part, all);
    }
    if constexpr (Most >= 3) {
      if (count == 3) return gemm_panels<K, 3>(part, all);
    }
    if constexpr (Most >= 2) {
      if (count == 2) return gemm_panels<K, 2>(part, all);
    }
    gemm_panels<K, 1>(part, all);
  });
}

/// A few rows take more panels at once, to have enough independent chains. Some more rows that fit
/// one taller tile take fewer panels, so that the weights are read once.
template <typename K>
void gemm(const GemmTask& t) {
  if (t.rows <= rows_in(FewRows{})) return gemm_rows<K, kFewPanels>(t, FewRows{});
  using Some = typename K::SomeRows;
  using All = typename K::AllRows;
  if (t.rows > rows_in(All{}) && t.rows <= rows_in(Some{})) {
    return gemm_rows<K, kOneTilePanels>(t, Some{});
  }
  gemm_rows<K, kTilePanels>(t, All{});
}
