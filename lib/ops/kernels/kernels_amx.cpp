#if defined(__AMX_BF16__) || defined(__AMXBF16__)  // GCC, older clang
#include <immintrin.h>

#include "ops/kernels/kernel_table.h"
#define UNROLL _Pragma("GCC unroll 32")

namespace bert {
namespace {
#include "ops/kernels/vec_avx512.h"
// After the vector type, which it uses.
#include "ops/kernels/kernels_impl.h"
// Follows them.
#include "ops/kernels/bf16_impl.h"

// A tile has 16 rows of 64 bytes. Tiles 0 to 3 are sums [16, 16], tiles 4 and 5 are rows of a,
// tiles 6 and 7 are from b: 16 pairs along K by 16 outputs, as a panel is in memory.
constexpr size_t kTileRows = 16;
constexpr size_t kTileBytes = 64;
constexpr size_t kTileK = kTileBytes / sizeof(uint16_t);

/// g++ 12 does not know which memory the tile intrinsics read. This makes it finish all stores
/// before.
inline void finish_stores(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};

/// Configures tiles for two tiles of rows, `rows` in all, by two panels, or one tile of rows by
/// four panels.
void configure(size_t rows) {
  TileConfig config;
  const auto first = static_cast<uint8_t>(smaller(rows, kTileRows));
  const auto second = static_cast<uint8_t>(rows > kTileRows ? rows - kTileRows : first);
  const uint8_t heights[8] = {first, first, second, second, first, second, kTileRows, kTileRows};
  for (int i = 0; i < 8; ++i) {
    config.bytes[i] = kTileBytes;
    config.rows[i] = heights[i];
  }
  finish_stores(&config);
  _tile_loadconfig(&config);
}

/// Configures tiles and calls block.operator()<Tall>(row, count) for blocks that cover `rows`:
/// blocks of 32 rows, then the rest. A block of more than 16 rows is tall.
template <typename F>
inline void in_blocks(size_t rows, F&& block) {
  constexpr size_t kTall = 2 * kTileRows;
  const size_t tall = rows / kTall * kTall, rest = rows - tall;
  if (tall > 0) configure(kTall);
  for (size_t row = 0; row < tall; row += kTall) block.template operator()<true>(row, kTall);
  if (rest > 0) configure(rest);
  if (rest > kTileRows) {
    block.template operator()<true>(tall, rest);
  } else if (rest > 0) {
    block.template operator()<false>(tall, rest);
  }
}

/// sums += a b over one tile's length of K. Tall: two tiles of rows by at most two panels; else one
/// tile of rows by at most four.
template <bool Tall, size_t NP>
inline void multiply_tiles(const char* a, size_t a_stride, const char* b, size_t panel_stride) {
  _tile_loadd(4, a, a_stride);
  if constexpr (Tall) _tile_loadd(5, a + kTileRows * a_stride, a_stride);
  _tile_loadd(6, b, kTileBytes);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (Tall) {
    _tile_dpbf16ps(2, 5, 6);
  }
  if constexpr (NP >= 2) {
    _tile_loadd(7, b + panel_stride, kTileBytes);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (Tall) {
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  if constexpr (!Tall && NP >= 3) {
    _tile_loadd(6, b + 2 * panel_stride, kTileBytes);
    _tile_dpbf16ps(2, 4, 6);
  }
  if constexpr (!Tall && NP >= 4) {
    _tile_loadd(7, b + 3 * panel_stride, kTileBytes);
    _tile_dpbf16ps(3, 4, 7);
  }
}

inline void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

/// Stores the sums to [rows, NP * 16] floats, ld from row to row.
template <bool Tall, size_t NP>
inline void store_sums(float* out, size_t ld) {
  const size_t stride = ld * sizeof(float);
  char* to = reinterpret_cast<char*>(out);
  _tile_stored(0, to, stride);
  if constexpr (NP >= 2) _tile_stored(1, to + kTileBytes, stride);
  if constexpr (Tall) {
    _tile_stored(2, to + kTileRows * stride, stride);
    if constexpr (NP >= 2) _tile_stored(3, to + kTileRows * stride + kTileBytes, stride);
  } else {
    if constexpr (NP >= 3) _tile_stored(2, to + 2 * kTileBytes, stride);
    if constexpr (NP >= 4) _tile_stored(3, to + 3 * kTileBytes, stride);
  }
}

/// The end of K, which does not fill a tile, filled up with zeros.
struct Tail {
  alignas(64) char a[2 * kTileRows * kTileBytes];
  alignas(64) char b[4 * kTileRows * kTileBytes];

  /// Copies `bytes` (1 to 64) of each row of a, and bytes / 4 rows of each panel of b (16 pairs
  /// each).
  Tail(const char* from_a, size_t stride, size_t rows, const char* from_b, size_t panel_stride,
       size_t panels, size_t bytes) {
    const __mmask64 some = ~uint64_t{0} >> (64 - bytes);
    for (size_t r = 0; r < rows; ++r) {
      _mm512_store_si512(a + r * kTileBytes, _mm512_maskz_loadu_epi8(some, from_a + r * stride));
    }
    for (size_t j = 0; j < panels; ++j) {
      for (size_t i = 0; i < kTileRows; ++i) {
        const char* row = from_b + j * panel_stride + i * kTileBytes;
        _mm512_store_si512(b + (j * kTileRows + i) * kTileBytes,
                           i * 4 < bytes ? _mm512_loadu_si512(row) : _mm512_setzero_si512());
      }
    }
    finish_stores(this);
  }
};

/// The epilogue of a block. It runs row by row while tiles compute the next block, since vector
/// loads wait long for data that tiles have just stored.
struct Waiting {
  GemmTask task;
  const float* sums = nullptr;
  size_t ld = 0;
  size_t row = 0, rows = 0, done = 0;

  void finish(size_t count) {
    count = smaller(count, rows - done);
    if (count == 0) return;
    epilogue(task, sums + done * ld, row + done, count, ld);
    done += count;
  }
};

/// Computes `sums` [rows, ld] of `rows` rows of t by its NP panels.
template <bool Tall, size_t NP>
void bf16_block(const GemmTask& t, size_t row, size_t rows, float* sums, size_t ld,
                Waiting& before) {
  const size_t stride = t.lda * sizeof(uint16_t);
  const char* a = static_cast<const char*>(t.a) + row * stride;
  const char* b = static_cast<const char*>(t.b);
  const size_t share = before.rows * kTileK / t.k + 1;
  zero_sums();
  size_t k = 0;
  for (; k + kTileK <= t.k; k += kTileK) {
    multiply_tiles<Tall, NP>(a, stride, b, t.panel_stride);
    before.finish(share);
    a += kTileBytes;
    b += kTileRows * kTileBytes;
  }
  if (k < t.k) {
    const Tail tail(a, stride, rows, b, t.panel_stride, NP,
                    round_up(t.k - k, 2) * sizeof(uint16_t));
    multiply_tiles<Tall, NP>(tail.a, kTileBytes, tail.b, kTileRows * kTileBytes);
  }
  store_sums<Tall, NP>(sums, ld);
  before.finish(before.rows);
}

/// A vector whose lanes 4 i to 4 i + 3 are x[4 quarter + i].
inline Vec each_four_times(Vec x, int quarter) {
  const __m512i lane = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  return _mm512_permutexvar_ps(_mm512_add_epi32(lane, _mm512_set1_epi32(4 * quarter)), x);
}

void int8_to_bf16_impl(const void* panel, size_t k, void* out) {
  const __m512i evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
  const char* from = static_cast<const char*>(panel);
  char* to = static_cast<char*>(out);
  for (size_t i = 0; i < k; i += kInt8Group) {
    Vec scale[4];
    UNROLL for (int j = 0; j < 4; ++j) scale[j] = each_four_times(_mm512_loadu_ps(from), j);
    from += 128;
    const size_t steps = (smaller(kInt8Group, k - i) + 3) / 4;
    for (size_t s = 0; s < steps; ++s, from += 64, to += 128) {
      // Without the prefetch, a product of a few rows mostly waits for memory.
      _mm_prefetch(from + 4096, _MM_HINT_T0);
      Vec w[4];  // four steps of K of four outputs each
      UNROLL for (int j = 0; j < 4; ++j) {
        const auto* bytes = reinterpret_cast<const __m128i*>(from) + j;
        w[j] = mul(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes))), scale[j]);
      }
      const auto low = (__m512i)_mm512_cvtne2ps_pbh(w[1], w[0]);
      const auto high = (__m512i)_mm512_cvtne2ps_pbh(w[3], w[2]);
      _mm512_storeu_si512(to, _mm512_permutex2var_epi32(low, evens, high));
      _mm512_storeu_si512(to + 64, _mm512_permutex2var_epi32(low, odds, high));
    }
  }
}

// Follows them.
#include "ops/kernels/amx_split_impl.h"

/// Whether the sums of t are its result, and its columns are whole panels.
inline bool only_sums(const GemmTask& t) {
  return !t.bias && !t.residual && t.activation == kNone && t.cols == t.panels * kPanel;
}

/// Computes the blocks of a product one after the other.
class Blocks {
 public:
  ~Blocks() { waiting_.finish(waiting_.rows); }

  /// Rows [row, row + rows) by all panels.
  template <bool Tall>
  void compute(const GemmTask& t, size_t row, size_t rows) {
    constexpr size_t kMost = Tall ? 2 : 4;
    for (size_t first = 0; first < t.panels; first += kMost) {
      const GemmTask part = panels_of(t, first, smaller(kMost, t.panels - first));
      const bool done = only_sums(part);
      float* sums = done ? part.c + row * part.ldc : sums_[turn_];
      const size_t ld = done ? part.ldc : part.panels * kPanel;
      turn_ = 1 - turn_;
      if constexpr (!Tall) {
        if (part.panels == 4) bf16_block<Tall, 4>(part, row, rows, sums, ld, waiting_);
        if (part.panels == 3) bf16_block<Tall, 3>(part, row, rows, sums, ld, waiting_);
      }
      if (part.panels == 2) bf16_block<Tall, 2>(part, row, rows, sums, ld, waiting_);
      if (part.panels == 1) bf16_block<Tall, 1>(part, row, rows, sums, ld, waiting_);
      waiting_ = {part, sums, ld, row, done ? 0 : rows, 0};
    }
  }

 private:
  alignas(64) float sums_[2][4 * kTileRows * kPanel];
  int turn_ = 0;
  Waiting waiting_;
};

void gemm_bf16(const GemmTask& t) {
  finish_stores(t.a);
  Blocks blocks;
  in_blocks(t.rows,
            [&]<bool Tall>(size_t row, size_t rows) { blocks.compute<Tall>(t, row, rows); });
  _tile_release();
}

void bf16_row_impl(const float* x, size_t k, uint16_t* out) {
  size_t i = 0;
  for (; i + 32 <= k; i += 32) store_halfs(out + i, load(x + i), load(x + i + 16));
  if (i == k) return;
  uint16_t rest[32];
  bf16_padded(x + i, k - i, rest);
  copy_halfs(out + i, rest, round_up(k - i, 2));
}

}  // namespace

const KernelTable& kernels_amx() {
  static const KernelTable table = [] {
    KernelTable amx = kernels_avx512_bf16();
    amx.gemm_bf16 = gemm_bf16;
    amx.int8_to_bf16 = int8_to_bf16_impl;
    amx.gemm_split = gemm_split;
    amx.split = split_impl;
    amx.to_bf16 = bf16_row_impl;
    amx.attention_bf16 = attention_bf16_impl<gemm_bf16>;
    amx.narrow_bytes = 512 * 1024;
    return amx;
  }();
  return table;
}

}  // namespace bert
#endif
