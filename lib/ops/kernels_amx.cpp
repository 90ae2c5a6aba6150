#if defined(__AMX_BF16__)
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

// A tile is 16 rows of 64 bytes. Tiles 0 to 3 are sums [16, 16], 4 and 5 rows of a, 6 and 7 are of
// b: 16 pairs of K by 16 outputs, which is how a panel lies in memory.
constexpr size_t kTileRows = 16;
constexpr size_t kTileBytes = 64;
constexpr size_t kTileK = kTileBytes / sizeof(uint16_t);

/// g++ 12 does not see what the intrinsics for tiles read: all stores before this are done.
inline void finish_stores(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};

/// Two tiles of rows, `rows` in all, by two panels; or one of rows by four panels.
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

/// sums += a b over one tile's length of K. Tall: two tiles of rows by at most two panels.
template <bool Tall, size_t NP>
inline void multiply_tiles(const char* a, size_t a_stride, const char* b, size_t panel_stride) {
  _tile_loadd(4, a, a_stride);
  if constexpr (Tall) _tile_loadd(5, a + kTileRows * a_stride, a_stride);
  _tile_loadd(6, b, kTileBytes);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (Tall) _tile_dpbf16ps(2, 5, 6);
  if constexpr (NP >= 2) {
    _tile_loadd(7, b + panel_stride, kTileBytes);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (Tall) _tile_dpbf16ps(3, 5, 7);
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

/// The end of K, which fills no tile, with zeros behind it.
struct Tail {
  alignas(64) char a[2 * kTileRows * kTileBytes];
  alignas(64) char b[4 * kTileRows * kTileBytes];

  Tail(const GemmTask& t, const char* from_a, size_t rows, const char* from_b, size_t k) {
    const size_t bytes = round_up(k, 2) * sizeof(uint16_t);
    const __mmask64 some = (uint64_t{1} << bytes) - 1;
    for (size_t r = 0; r < rows; ++r) {
      const char* row = from_a + r * t.lda * sizeof(uint16_t);
      _mm512_store_si512(a + r * kTileBytes, _mm512_maskz_loadu_epi8(some, row));
    }
    for (size_t j = 0; j < t.panels; ++j) {
      for (size_t i = 0; i < kTileRows; ++i) {
        const bool inside = i * 4 < bytes;
        const char* row = from_b + j * t.panel_stride + i * kTileBytes;
        _mm512_store_si512(b + (j * kTileRows + i) * kTileBytes,
                           inside ? _mm512_loadu_si512(row) : _mm512_setzero_si512());
      }
    }
  }
};

/// Sums of `rows` rows of t by its NP panels, then what follows them.
template <bool Tall, size_t NP>
void block(const GemmTask& t, size_t row, size_t rows) {
  constexpr size_t kLd = NP * kPanel;
  alignas(64) float sums[2 * kTileRows * kLd];
  const size_t stride = t.lda * sizeof(uint16_t);
  const char* a = static_cast<const char*>(t.a) + row * stride;
  const char* b = static_cast<const char*>(t.b);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  size_t k = 0;
  for (; k + kTileK <= t.k; k += kTileK) {
    multiply_tiles<Tall, NP>(a, stride, b, t.panel_stride);
    a += kTileBytes;
    b += kTileRows * kTileBytes;
  }
  if (k < t.k) {
    const Tail tail(t, a, rows, b, t.k - k);
    finish_stores(&tail);
    multiply_tiles<Tall, NP>(tail.a, kTileBytes, tail.b, kTileRows * kTileBytes);
  }
  _tile_stored(0, sums, kLd * sizeof(float));
  if constexpr (NP >= 2) _tile_stored(1, sums + kPanel, kLd * sizeof(float));
  if constexpr (Tall) {
    _tile_stored(2, sums + kTileRows * kLd, kLd * sizeof(float));
    if constexpr (NP >= 2) _tile_stored(3, sums + kTileRows * kLd + kPanel, kLd * sizeof(float));
  } else {
    if constexpr (NP >= 3) _tile_stored(2, sums + 2 * kPanel, kLd * sizeof(float));
    if constexpr (NP >= 4) _tile_stored(3, sums + 3 * kPanel, kLd * sizeof(float));
  }
  epilogue(t, sums, row, rows, kLd);
}

template <bool Tall>
void block_of(const GemmTask& t, size_t row, size_t rows) {
  if constexpr (!Tall) {
    if (t.panels == 4) return block<Tall, 4>(t, row, rows);
    if (t.panels == 3) return block<Tall, 3>(t, row, rows);
  }
  if (t.panels == 2) return block<Tall, 2>(t, row, rows);
  block<Tall, 1>(t, row, rows);
}

/// Calls each(part of t, its panels) for at most `most` panels at a time.
template <typename F>
inline void in_panels(const GemmTask& t, size_t most, F&& use) {
  for (size_t first = 0; first < t.panels; first += most) {
    use(panels_of(t, first, smaller(most, t.panels - first)));
  }
}

void gemm_bf16(const GemmTask& t) {
  finish_stores(t.a);
  constexpr size_t kTall = 2 * kTileRows;
  const size_t tall = t.rows / kTall * kTall;
  if (tall > 0) {
    configure(kTall);
    in_panels(t, 2, [&](const GemmTask& part) {
      for (size_t row = 0; row < tall; row += kTall) block_of<true>(part, row, kTall);
    });
  }
  if (const size_t rest = t.rows - tall; rest > kTileRows) {
    configure(rest);
    in_panels(t, 2, [&](const GemmTask& part) { block_of<true>(part, tall, rest); });
  } else if (rest > 0) {
    configure(rest);
    in_panels(t, 4, [&](const GemmTask& part) { block_of<false>(part, tall, rest); });
  }
  _tile_release();
}

void bf16_row_impl(const float* x, size_t k, uint16_t* out) {
  size_t i = 0;
  for (; i + 32 <= k; i += 32) {
    _mm512_storeu_si512(out + i, (__m512i)_mm512_cvtne2ps_pbh(load(x + i + 16), load(x + i)));
  }
  if (i == k) return;
  const __mmask32 some = static_cast<__mmask32>((uint64_t{1} << round_up(k - i, 2)) - 1);
  _mm512_mask_storeu_epi16(out + i, some, bf16_of_32(x + i, k - i));
}

}  // namespace

const KernelTable& kernels_amx() {
  static const KernelTable table = [] {
    KernelTable amx = kernels_avx512_vnni();
    amx.gemm_bf16 = gemm_bf16;
    amx.to_bf16 = bf16_row_impl;
    amx.narrow_panels = 4;
    return amx;
  }();
  return table;
}

}  // namespace bert
#endif
