// Part of kernels_amx.cpp: products of floats as sums of products of bf16 (Henry, Tang, Heinecke,
// "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations",
// 2019). A float is the sum of three bf16 parts. Of the nine products of parts, the three smallest
// are left out: they are below the rounding of a float sum.

constexpr size_t kTile = kTileRows * kTileBytes;
/// Bytes of the three parts of a panel over 32 values along K: three tiles.
constexpr size_t kPartsStep = 3 * kTile;
/// Steps of 32 along K. So many parts of two panels stay in the second-level cache twice: the parts
/// that are computed and the parts that are made for the next piece.
constexpr size_t kPartsSteps = 12;

/// Splits inputs into parts by rounding, while weights are truncated. So the products that are left
/// out have either sign, and the sums have no bias.
void split_impl(const float* x, size_t k, size_t part, uint16_t* out) {
  for (size_t i = 0; i < round_up(k, kTileK); i += kLanes) {
    Vec rest = load_n(x + i, i < k ? smaller(kLanes, k - i) : 0);
    for (size_t p = 0; p < 3; ++p) {
      const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(rest);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + p * part + i), rounded);
      const __m512i bits = _mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded), 16);
      rest = sub(rest, _mm512_castsi512_ps(bits));
    }
  }
}

/// Writes two steps of K of a panel, 16 outputs each, as one row of each of three tiles.
inline void cut_pair(Vec even, Vec odd, char* to) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  UNROLL for (size_t p = 0; p < 3; ++p) {
    const __m512i low = _mm512_castps_si512(even), high = _mm512_castps_si512(odd);
    // (high & upper) | low >> 16
    _mm512_store_si512(to + p * kTile,
                       _mm512_ternarylogic_epi32(high, upper, _mm512_srli_epi32(low, 16), 0xea));
    if (p == 2) break;
    even = sub(even, _mm512_castsi512_ps(_mm512_and_si512(low, upper)));
    odd = sub(odd, _mm512_castsi512_ps(_mm512_and_si512(high, upper)));
  }
}

/// Makes the parts of some panels, from k on: for each 32 values along K three tiles of 16 pairs by
/// 16 outputs. It works little by little, while tiles compute the parts that were made before.
class Cut {
 public:
  Cut() = default;
  Cut(const GemmTask& t, size_t panels, size_t k, size_t count, char* to)
      : from_(static_cast<const char*>(t.b) + k * kPanel * sizeof(float)),
        stride_(t.panel_stride),
        panels_(panels),
        count_(count),
        pairs_(round_up(count, kTileK) / 2),
        to_(to) {}

  size_t work() const { return panels_ * pairs_; }
  void some(size_t n) {
    for (; n > 0 && panels_ > 0; --n) one();
  }
  void rest() {
    while (panels_ > 0) one();
    finish_stores(to_);
  }

 private:
  void one() {
    const float* at = reinterpret_cast<const float*>(from_) + pair_ * 2 * kPanel;
    // At a smaller or larger distance, a few rows wait longer for memory.
    _mm_prefetch(at + 128, _MM_HINT_T0);
    _mm_prefetch(at + 128 + kPanel, _MM_HINT_T0);
    const size_t left = count_ - smaller(count_, pair_ * 2);
    cut_pair(left >= 1 ? load(at) : set1(0.f), left >= 2 ? load(at + kPanel) : set1(0.f),
             to_ + pair_ / kTileRows * kPartsStep + pair_ % kTileRows * kTileBytes);
    if (++pair_ < pairs_) return;
    pair_ = 0;
    --panels_;
    from_ += stride_;
    to_ += pairs_ / kTileRows * kPartsStep;
  }

  const char* from_ = nullptr;
  size_t stride_ = 0, panels_ = 0, count_ = 0, pairs_ = 0, pair_ = 0;
  char* to_ = nullptr;
};

/// Adds one step of K to the sums, the smallest products first: two tiles of rows by at most two
/// panels.
template <size_t NP>
inline void multiply_parts(const char* a, size_t stride, const char* b, size_t panel, Cut& next,
                           size_t share) {
  const size_t part = stride / 3;
  const auto load_a = [&](size_t p) {
    _tile_loadd(4, a + p * part, stride);
    _tile_loadd(5, a + p * part + kTileRows * stride, stride);
  };
  const auto load_b = [&](size_t p) {
    _tile_loadd(6, b + p * kTile, kTileBytes);
    if constexpr (NP == 2) _tile_loadd(7, b + panel + p * kTile, kTileBytes);
  };
  const auto multiply = [&] {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(2, 5, 6);
    if constexpr (NP == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (NP == 2) _tile_dpbf16ps(3, 5, 7);
    next.some(share);
  };
  load_a(0), load_b(2), multiply();
  load_b(1), multiply();
  load_a(1), multiply();
  load_b(0), multiply();
  load_a(2), multiply();
  load_a(0), multiply();
}

/// The same, in the same order, for one tile of rows by at most four panels.
template <size_t NP>
inline void multiply_few_parts(const char* a, size_t stride, const char* b, size_t panel, Cut& next,
                               size_t share) {
  const size_t part = stride / 3;
  // Macros, because the intrinsics want tile numbers as constants. Tiles 6 and 7 take turns.
#define BY_PANEL(J, B, PART, A)                               \
  if constexpr (NP > J) {                                     \
    _tile_loadd(B, b + J * panel + PART * kTile, kTileBytes); \
    _tile_dpbf16ps(J, A, B);                                  \
    next.some(share);                                         \
  }
#define BY_PANELS(PART, A) \
  BY_PANEL(0, 6, PART, A)  \
  BY_PANEL(1, 7, PART, A)  \
  BY_PANEL(2, 6, PART, A)  \
  BY_PANEL(3, 7, PART, A)
  _tile_loadd(4, a, stride);
  _tile_loadd(5, a + part, stride);
  BY_PANELS(2, 4)
  BY_PANELS(1, 4)
  BY_PANELS(1, 5)
  BY_PANELS(0, 5)
  _tile_loadd(5, a + 2 * part, stride);
  BY_PANELS(0, 5)
  BY_PANELS(0, 4)
#undef BY_PANELS
#undef BY_PANEL
}

/// Computes up to 16 rows by four panels at a time.
void split_few(const GemmTask& t, char* parts) {
  alignas(64) float sums[2][kTileRows * 4 * kPanel];
  const size_t steps = (t.k + kTileK - 1) / kTileK, pieces = (t.panels + 3) / 4 * steps;
  const auto panels = [&](size_t i) { return smaller(4, t.panels - i / steps * 4); };
  const auto parts_of = [&](size_t i) { return parts + i % 2 * 4 * kPartsStep; };
  const auto cut_of = [&](size_t i) {
    if (i == pieces) return Cut();
    const size_t k = i % steps * kTileK;
    return Cut(panels_of(t, i / steps * 4, panels(i)), panels(i), k, smaller(kTileK, t.k - k),
               parts_of(i));
  };
  Waiting waiting;
  cut_of(0).rest();
  for (size_t i = 0; i < pieces; ++i) {
    const size_t stride = t.lda * sizeof(uint16_t), np = panels(i);
    const char* a = static_cast<const char*>(t.a) + i % steps * kTileBytes;
    Cut next = cut_of(i + 1);
    const size_t share = next.work() / (6 * np) + 1;
    if (i % steps == 0) zero_sums();
    if (np == 4) multiply_few_parts<4>(a, stride, parts_of(i), kPartsStep, next, share);
    if (np == 3) multiply_few_parts<3>(a, stride, parts_of(i), kPartsStep, next, share);
    if (np == 2) multiply_few_parts<2>(a, stride, parts_of(i), kPartsStep, next, share);
    if (np == 1) multiply_few_parts<1>(a, stride, parts_of(i), kPartsStep, next, share);
    next.rest();
    waiting.finish(waiting.rows);
    if (i % steps + 1 < steps) continue;
    float* to = sums[i / steps % 2];
    store_sums<false, 4>(to, 4 * kPanel);
    waiting = {panels_of(t, i / steps * 4, np), to, 4 * kPanel, 0, t.rows, 0};
  }
  waiting.finish(waiting.rows);
}

/// Loads the sums so far of a block of rows by two panels.
template <bool Tall>
inline void load_sums(const float* from) {
  constexpr size_t kStride = 2 * kTileBytes;
  const char* p = reinterpret_cast<const char*>(from);
  _tile_loadd(0, p, kStride);
  _tile_loadd(1, p + kTileBytes, kStride);
  if constexpr (Tall) {
    _tile_loadd(2, p + kTileRows * kStride, kStride);
    _tile_loadd(3, p + kTileRows * kStride + kTileBytes, kStride);
  }
}

/// A piece of the weights: the parts of [k, k + count) of at most two panels.
struct Piece {
  GemmTask task;
  size_t k, count;
  char* parts;
  float* sums;  ///< [rows, 32]
  bool last;
};

/// One block of 17 to 32 rows, or 1 to 16.
template <bool Tall, size_t NP>
inline void split_block(const Piece& p, size_t row, size_t rows, Waiting& before, Cut& next,
                        size_t share) {
  const size_t stride = p.task.lda * sizeof(uint16_t);
  const char* a = static_cast<const char*>(p.task.a) + row * stride + p.k * sizeof(uint16_t);
  const char* parts = p.parts;
  const size_t panel = round_up(p.count, kTileK) / kTileK * kPartsStep;
  float* sums = p.sums + row * 2 * kPanel;
  const size_t finish = before.rows * kTileK / p.count + 1;
  if (p.k == 0) {
    zero_sums();
  } else {
    load_sums<Tall>(sums);
  }
  for (size_t i = 0; i < p.count; i += kTileK, a += kTileBytes, parts += kPartsStep) {
    if constexpr (Tall) {
      multiply_parts<NP>(a, stride, parts, panel, next, share);
    } else {
      multiply_few_parts<NP>(a, stride, parts, panel, next, share);
    }
    before.finish(finish);
  }
  store_sums<Tall, 2>(sums, 2 * kPanel);
  before.finish(before.rows);
  if (p.last) before = {p.task, sums, 2 * kPanel, row, rows, 0};
}

/// Computes all rows by at most two panels.
template <size_t NP>
void split_rows(const Piece& p, Waiting& before, Cut& next) {
  const size_t blocks = p.task.rows / (2 * kTileRows) + 1;
  const size_t share = next.work() * kTileK / (6 * p.count * blocks) + 1;
  in_blocks(p.task.rows, [&]<bool Tall>(size_t row, size_t rows) {
    split_block<Tall, NP>(p, row, rows, before, next, share);
  });
}

/// Computes the pieces one after the other, each for all rows. The sums are in memory between
/// pieces.
void split_many(const GemmTask& t, char* parts, float* sums) {
  constexpr size_t kK = kPartsSteps * kTileK;
  const size_t pairs = (t.panels + 1) / 2, pieces = pairs * ((t.k + kK - 1) / kK);
  const auto piece = [&](size_t i) {
    const size_t first = i % pairs * 2, k = i / pairs * kK;
    return Piece{panels_of(t, first, smaller(2, t.panels - first)),
                 k,
                 smaller(kK, t.k - k),
                 parts + i % 2 * 2 * kPartsSteps * kPartsStep,
                 sums + i % pairs * round_up(t.rows, 2 * kTileRows) * 2 * kPanel,
                 k + kK >= t.k};
  };
  const auto cut_of = [&](const Piece& p) {
    return Cut(p.task, p.task.panels, p.k, p.count, p.parts);
  };
  Waiting waiting;
  cut_of(piece(0)).rest();
  for (size_t i = 0; i < pieces; ++i) {
    const Piece p = piece(i);
    Cut next = i + 1 < pieces ? cut_of(piece(i + 1)) : Cut();
    p.task.panels == 2 ? split_rows<2>(p, waiting, next) : split_rows<1>(p, waiting, next);
    next.rest();
  }
  waiting.finish(waiting.rows);
}

void gemm_split(const GemmTask& t, void* scratch) {
  alignas(64) char parts[2 * 2 * kPartsSteps * kPartsStep];
  finish_stores(t.a);
  if (t.rows > kTileRows) {
    split_many(t, parts, static_cast<float*>(scratch));
  } else {
    configure(t.rows);
    split_few(t, parts);
  }
  _tile_release();
}
