// The kernels, written once for all instruction sets: each kernels_*.cpp defines the vector type
// Vec with its functions, gemm tile sizes, and includes this file, inside namespace bert, in an
// anonymous namespace. No standard headers but <cstddef>, <cstdint>: see kernel_table.h.
//
// Every element is computed by one fixed sequence of operations, whatever surrounds it: tails use
// the same vector code on a part of a vector.

constexpr size_t kVecsPerPanel = kPanel / kLanes;

inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// ---- elementary functions
// ------------------------------------------------------------------------

/// e^x within 1 ulp or so; 0 below -87.3 (so no denormals), inf above 88.7; NaN stays.
inline Vec exp_v(Vec x) {
  const Vec clamped = min_v(set1(88.8f), max_v(set1(-88.f), x));
  const Vec n = round_v(mul(clamped, set1(1.44269504088896341f)));
  Vec r = fma(n, set1(-0.693359375f), clamped);
  r = fma(n, set1(2.12194440e-4f), r);
  Vec p = set1(1.9875691500e-4f);
  p = fma(p, r, set1(1.3981999507e-3f));
  p = fma(p, r, set1(8.3334519073e-3f));
  p = fma(p, r, set1(4.1665795894e-2f));
  p = fma(p, r, set1(1.6666665459e-1f));
  p = fma(p, r, set1(5.0000001201e-1f));
  p = add(fma(p, mul(r, r), r), set1(1.f));
  return zero_below(x, -87.33f, scale2(p, n));
}

// Two rational minimax approximations, within 2e-7. Both were fitted to overshoot at the end of
// their range, so that clamping makes them exact from there on: gelu(-100) is 0, not 100 roundings.

/// 0.5 erf(x / sqrt(2)) = Phi(x) - 0.5.
inline Vec half_erf(Vec x) {
  x = min_v(set1(5.6f), max_v(set1(-5.6f), x));
  const Vec s = mul(x, x);
  Vec p = set1(2.255366027e-08f);
  p = fma(p, s, set1(6.305773695e-06f));
  p = fma(p, s, set1(1.680145651e-04f));
  p = fma(p, s, set1(4.672640935e-03f));
  p = fma(p, s, set1(3.381916508e-02f));
  p = fma(p, s, set1(3.989422619e-01f));
  Vec q = set1(1.188066904e-06f);
  q = fma(q, s, set1(7.315618859e-05f));
  q = fma(q, s, set1(1.880497555e-03f));
  q = fma(q, s, set1(2.861982025e-02f));
  q = fma(q, s, set1(2.514384091e-01f));
  q = fma(q, s, set1(1.f));
  return min_v(set1(0.5f), max_v(set1(-0.5f), div(mul(x, p), q)));
}

inline Vec tanh_v(Vec x) {
  x = min_v(set1(9.f), max_v(set1(-9.f), x));
  const Vec s = mul(x, x);
  Vec p = set1(1.376687120e-08f);
  p = fma(p, s, set1(2.088520887e-05f));
  p = fma(p, s, set1(3.511768999e-03f));
  p = fma(p, s, set1(1.339450777e-01f));
  p = fma(p, s, set1(1.f));
  Vec q = set1(7.938236877e-07f);
  q = fma(q, s, set1(3.312471090e-04f));
  q = fma(q, s, set1(2.593807876e-02f));
  q = fma(q, s, set1(4.672782719e-01f));
  q = fma(q, s, set1(1.f));
  return min_v(set1(1.f), max_v(set1(-1.f), div(mul(x, p), q)));
}

inline Vec sigmoid_v(Vec x) { return div(set1(1.f), add(set1(1.f), exp_v(sub(set1(0.f), x)))); }

// The activations by their value in linear.h.
enum Act { kNone, kGelu, kGeluTanh, kGeluQuick, kRelu, kSilu, kTanh, kSigmoid };

template <int A>
inline Vec act_v(Vec x) {
  switch (A) {
    case kGelu:
      return mul(x, add(set1(0.5f), half_erf(x)));
    case kGeluTanh: {
      const Vec inner =
          mul(mul(x, set1(0.7978845608028654f)), fma(mul(x, x), set1(0.044715f), set1(1.f)));
      return mul(mul(x, set1(0.5f)), add(set1(1.f), tanh_v(inner)));
    }
    case kGeluQuick:
      return mul(x, sigmoid_v(mul(x, set1(1.702f))));
    case kRelu:
      return max_v(set1(0.f), x);
    case kSilu:
      return mul(x, sigmoid_v(x));
    case kTanh:
      return tanh_v(x);
    case kSigmoid:
      return sigmoid_v(x);
    default:
      return x;
  }
}

/// Calls f(i, part) for each vector of a row, `part` being All or, at the end, the number of
/// elements.
template <typename F>
inline void each(size_t n, F&& f) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, All{});
  if (i < n) f(i, n - i);
}

template <int A>
void activate_as(float* x, size_t n) {
  each(n, [x](size_t i, auto part) { store_n(x + i, act_v<A>(load_n(x + i, part)), part); });
}

void activate_impl(int activation, float* x, size_t n) {
  switch (activation) {
    case kGelu:
      return activate_as<kGelu>(x, n);
    case kGeluTanh:
      return activate_as<kGeluTanh>(x, n);
    case kGeluQuick:
      return activate_as<kGeluQuick>(x, n);
    case kRelu:
      return activate_as<kRelu>(x, n);
    case kSilu:
      return activate_as<kSilu>(x, n);
    case kTanh:
      return activate_as<kTanh>(x, n);
    case kSigmoid:
      return activate_as<kSigmoid>(x, n);
    default:
      return;
  }
}

// ---- rows
// ----------------------------------------------------------------------------------------

/// sum = f(i, part, sum) over a row, in four chains of fixed order.
template <typename F>
inline float row_sum(size_t n, F&& f) {
  Vec s0 = set1(0.f);
  Vec s1 = s0, s2 = s0, s3 = s0;
  size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    s0 = f(i, All{}, s0);
    s1 = f(i + kLanes, All{}, s1);
    s2 = f(i + 2 * kLanes, All{}, s2);
    s3 = f(i + 3 * kLanes, All{}, s3);
  }
  for (; i + kLanes <= n; i += kLanes) s0 = f(i, All{}, s0);
  if (i < n) s1 = f(i, n - i, s1);
  return reduce_add(add(add(s0, s1), add(s2, s3)));
}

void layer_norm_impl(const float* x, size_t n, const float* weight, const float* bias, float eps,
                     float* out) {
  const float count = static_cast<float>(n);
  const float mean =
      row_sum(n, [x](size_t i, auto part, Vec sum) { return add(sum, load_n(x + i, part)); }) /
      count;
  const Vec m = set1(mean);
  const float variance = row_sum(n,
                                 [x, m](size_t i, auto part, Vec sum) {
                                   const Vec d = keep_n(sub(load_n(x + i, part), m), part);
                                   return fma(d, d, sum);
                                 }) /
                         count;
  const Vec r = set1(1.f / __builtin_sqrtf(variance + eps));
  each(n, [=](size_t i, auto part) {
    const Vec normal = mul(sub(load_n(x + i, part), m), r);
    store_n(out + i, fma(normal, load_n(weight + i, part), load_n(bias + i, part)), part);
  });
}

void add_impl(const float* y, size_t n, float* x) {
  each(n, [=](size_t i, auto part) {
    store_n(x + i, add(load_n(x + i, part), load_n(y + i, part)), part);
  });
}

float dot_impl(const float* a, const float* b, size_t n) {
  return row_sum(n, [a, b](size_t i, auto part, Vec sum) {
    return fma(load_n(a + i, part), load_n(b + i, part), sum);
  });
}

constexpr float kInfinity = __builtin_inff();

float row_max(const float* x, size_t n) {
  Vec best = set1(-kInfinity);
  each(n, [&](size_t i, auto part) { best = max_v(load_or(x + i, part, -kInfinity), best); });
  return reduce_max(best);
}

/// x = e^((x - max) scale), not yet divided; returns the sum. A NaN makes the sum NaN.
inline float exp_row(float* x, size_t n, float scale) {
  const float top = row_max(x, n);
  if (top == -kInfinity) {  // all -inf, or some NaN among them
    float sum = 0;
    for (size_t i = 0; i < n; ++i) {
      x[i] = x[i] == -kInfinity ? 0.f : x[i];
      sum += x[i];
    }
    return sum;
  }
  const Vec m = set1(top);
  const Vec s = set1(scale);
  return row_sum(n, [x, m, s](size_t i, auto part, Vec sum) {
    const Vec e = keep_n(exp_v(mul(sub(load_n(x + i, part), m), s)), part);
    store_n(x + i, e, part);
    return add(sum, e);
  });
}

inline float inverse_sum(float sum) { return sum == 0.f ? 0.f : 1.f / sum; }

void softmax_impl(float* x, size_t n) {
  const Vec factor = set1(inverse_sum(exp_row(x, n, 1.f)));
  each(n, [=](size_t i, auto part) { store_n(x + i, mul(load_n(x + i, part), factor), part); });
}

// ---- products
// ------------------------------------------------------------------------------------

/// The sums over K are cut into runs of at most this length, of equal size, added at the end:
/// shorter chains round less, and the cut depends on K alone.
constexpr size_t kMaxChain = 256;

/// c[MR, NP * 16] (+)= a[MR, k] b[k, NP * 16], one chain of multiply-adds per element.
/// Ahead fetches the panels that follow, for the first rows to meet b.
template <size_t MR, size_t NP, bool Ahead>
void tile_f32(const float* a, size_t lda, const float* b, size_t panel_floats, size_t step,
              size_t k, float* c, size_t ldc, bool accumulate) {
  constexpr size_t NV = NP * kVecsPerPanel;
  Vec sum[MR][NV];
  UNROLL for (size_t r = 0; r < MR; ++r) {
    UNROLL for (size_t j = 0; j < NV; ++j) sum[r][j] = set1(0.f);
  }
  for (size_t i = 0; i < k; ++i) {
    Vec w[NV];
    UNROLL for (size_t j = 0; j < NV; ++j) {
      w[j] = load(b + j / kVecsPerPanel * panel_floats + j % kVecsPerPanel * kLanes);
      if constexpr (Ahead) {
        __builtin_prefetch(b + (NP + j / kVecsPerPanel) * panel_floats + j % kVecsPerPanel * kLanes,
                           0, 2);
      }
    }
    UNROLL for (size_t r = 0; r < MR; ++r) {
      const Vec x = set1(a[r * lda + i]);
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
                         bool);

/// tile_f32<rows, NP, Ahead> by the number of rows.
template <size_t NP, bool Ahead, size_t... R>
inline TileF32 tile_of(size_t rows, Rows<R...>) {
  static constexpr TileF32 kTiles[] = {tile_f32<R, NP, Ahead>...};
  return kTiles[rows - 1];
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

/// From the sums of a tile [rows, ld] to t.c.
void epilogue(const GemmTask& t, const float* tile, size_t row, size_t rows, size_t ld) {
  switch (t.activation) {
    case kGelu:
      return epilogue_as<kGelu>(t, tile, row, rows, ld);
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

/// Calls f(first, count) for pieces of [0, n) of at most `most`, as equal as can be.
template <typename F>
inline void in_pieces(size_t n, size_t most, F&& f) {
  const size_t pieces = (n + most - 1) / most;
  for (size_t p = 0, first = 0; p < pieces; ++p) {
    const size_t count = n / pieces + (p < n % pieces ? 1 : 0);
    f(first, count);
    first += count;
  }
}

/// The part of `t` that concerns `panels` panels from `first` on.
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

/// How a product is computed tile by tile: run<MR, NP>(t, row, tile) leaves the sums of MR rows.
struct F32 {
  using AllRows = TileRows;
  template <size_t NP, size_t... R>
  static void run(const GemmTask& t, size_t row, size_t rows, float* tile, Rows<R...> all) {
    const float* a = static_cast<const float*>(t.a) + row * t.lda;
    const float* b = static_cast<const float*>(t.b);
    const TileF32 run_tile =
        row == 0 ? tile_of<NP, true>(rows, all) : tile_of<NP, false>(rows, all);
    in_pieces(t.k, kMaxChain, [&](size_t k, size_t count) {
      run_tile(a + k, t.lda, b + k * t.step, t.panel_stride / sizeof(float), t.step, count, tile,
               NP * kPanel, k > 0);
    });
  }
};

/// The same for kernels that take whole sums at once: K::tile<MR, NP>(t, row, tile).
template <typename K>
struct Whole {
  using AllRows = typename K::AllRows;
  template <size_t NP, size_t... R>
  static void run(const GemmTask& t, size_t row, size_t rows, float* tile, Rows<R...>) {
    using Run = void (*)(const GemmTask&, size_t, float*);
    static constexpr Run kTiles[] = {K::template tile<R, NP>...};
    kTiles[rows - 1](t, row, tile);
  }
};

template <typename K, size_t NP, size_t... R>
void gemm_panels(const GemmTask& t, Rows<R...> all) {
  alignas(64) float tile[sizeof...(R) * NP * kPanel];
  in_pieces(t.rows, sizeof...(R), [&](size_t row, size_t rows) {
    K::template run<NP>(t, row, rows, tile, all);
    epilogue(t, tile, row, rows, NP * kPanel);
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

/// Few rows need more panels at once, to have enough independent chains.
template <typename K>
void gemm(const GemmTask& t) {
  if (t.rows <= rows_in(FewRows{})) return gemm_rows<K, kFewPanels>(t, FewRows{});
  gemm_rows<K, kTilePanels>(t, typename K::AllRows{});
}

// ---- conversions
// ---------------------------------------------------------------------------------

// DType's values; see dtype.h.
enum Type { kF64, kF32, kF16, kBF16 };

inline float bits_float(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float half_to_float(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t rest = half & 0x7fffu;
  if (rest >= 0x7c00u) return bits_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);  // inf, NaN
  if (rest >= 0x400u) return bits_float(sign | ((rest << 13) + 0x38000000u));
  const float tiny = static_cast<float>(rest) * 0x1p-24f;
  return sign ? -tiny : tiny;
}

inline float scalar_as(int type, const std::byte* in) {
  if (type == kF64) {
    double value;
    __builtin_memcpy(&value, in, sizeof value);
    return static_cast<float>(value);
  }
  if (type == kF32) {
    float value;
    __builtin_memcpy(&value, in, sizeof value);
    return value;
  }
  uint16_t half;
  __builtin_memcpy(&half, in, sizeof half);
  return type == kF16 ? half_to_float(half) : bits_float(static_cast<uint32_t>(half) << 16);
}

constexpr size_t type_size(int type) { return type == kF64 ? 8 : type == kF32 ? 4 : 2; }

template <int T>
void to_float_as(const std::byte* in, size_t n, float* out) {
  size_t i = 0;
  if constexpr (T != kF64) {
    for (; i + kLanes <= n; i += kLanes) store(out + i, load_as<T>(in + i * type_size(T)));
  }
  for (; i < n; ++i) out[i] = scalar_as(T, in + i * type_size(T));
}

void to_float_impl(int type, const std::byte* in, size_t n, float* out) {
  switch (type) {
    case kF64:
      return to_float_as<kF64>(in, n, out);
    case kF16:
      return to_float_as<kF16>(in, n, out);
    case kBF16:
      return to_float_as<kBF16>(in, n, out);
    default:
      return to_float_as<kF32>(in, n, out);
  }
}

template <int T>
void pack_f32_as(const std::byte* const* rows, size_t k, float* panel) {
  size_t i = 0;
  if constexpr (T != kF64) {
    // The panel after this one, as 16 streams are more than the hardware follows.
    const ptrdiff_t ahead = rows[1] ? (rows[1] - rows[0]) * 16 : 0;
    const std::byte* at[kPanel];
    alignas(64) static constexpr std::byte kZeros[64] = {};
    for (; i + 16 <= k; i += 16) {
      for (size_t n = 0; n < kPanel; ++n) {
        at[n] = rows[n] ? rows[n] + i * type_size(T) : kZeros;
        __builtin_prefetch(at[n] + ahead, 0, 2);
      }
      transpose16<T>(at, panel + i * kPanel);
    }
  }
  for (; i < k; ++i) {
    for (size_t n = 0; n < kPanel; ++n) {
      panel[i * kPanel + n] = rows[n] ? scalar_as(T, rows[n] + i * type_size(T)) : 0.f;
    }
  }
}

void pack_f32_impl(const std::byte* const* rows, int type, size_t k, float* panel) {
  switch (type) {
    case kF64:
      return pack_f32_as<kF64>(rows, k, panel);
    case kF16:
      return pack_f32_as<kF16>(rows, k, panel);
    case kBF16:
      return pack_f32_as<kBF16>(rows, k, panel);
    default:
      return pack_f32_as<kF32>(rows, k, panel);
  }
}

/// Rounds to nearest even; NaN stays NaN.
inline uint16_t bf16_of(float x) {
  const uint32_t bits = float_bits(x);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

void to_bf16_impl(const float* x, size_t k, uint16_t* out) {
  for (size_t i = 0; i < k; ++i) out[i] = bf16_of(x[i]);
  if (k % 2) out[k] = 0;
}

void pack_bf16_impl(const float* panel, size_t k, void* out) {
  uint16_t* to = static_cast<uint16_t*>(out);
  for (size_t i = 0; i < k; i += 2, to += 2 * kPanel) {
    for (size_t n = 0; n < kPanel; ++n) {
      to[2 * n] = bf16_of(panel[i * kPanel + n]);
      to[2 * n + 1] = i + 1 < k ? bf16_of(panel[(i + 1) * kPanel + n]) : uint16_t{0};
    }
  }
}

/// The largest absolute value as bits: NaN beats infinity beats numbers.
inline uint32_t larger_bits(uint32_t best, float x) {
  const uint32_t bits = float_bits(x) & 0x7fffffffu;
  return bits > best ? bits : best;
}

constexpr float kSmallestScale = 1e-30f;

/// Nearest even, for |x| < 2^22.
inline float nearest(float x) { return (x + 12582912.f) - 12582912.f; }

/// One group of a panel: 16 scales, 16 sums, [k / 4][16][4] int8.
inline void pack_int8_group(const float* panel, size_t k, char* out) {
  uint32_t largest[kPanel] = {};
  for (size_t i = 0; i < k; ++i) {
    for (size_t n = 0; n < kPanel; ++n) largest[n] = larger_bits(largest[n], panel[i * kPanel + n]);
  }
  float scales[kPanel], factors[kPanel];
  for (size_t n = 0; n < kPanel; ++n) {
    const float top = bits_float(largest[n]);
    const bool zero = top < kSmallestScale;
    scales[n] = zero ? 0.f : top / 127.f;
    factors[n] = zero ? 0.f : 127.f / top;
  }
  int32_t sums[kPanel] = {};
  int8_t* to = reinterpret_cast<int8_t*>(out) + 8 * kPanel;
  for (size_t i = 0; i < round_up(k, 4); ++i) {
    for (size_t n = 0; n < kPanel; ++n) {
      const float scaled = i < k ? nearest(panel[i * kPanel + n] * factors[n]) : 0.f;
      // NaN compares false and becomes 0; its scale is NaN already.
      const int32_t value = scaled >= -127.f && scaled <= 127.f ? static_cast<int32_t>(scaled) : 0;
      sums[n] += value;
      to[i / 4 * 4 * kPanel + n * 4 + i % 4] = static_cast<int8_t>(value);
    }
  }
  __builtin_memcpy(out, scales, sizeof scales);
  __builtin_memcpy(out + sizeof scales, sums, sizeof sums);
}

void pack_int8_impl(const float* panel, size_t k, void* out) {
  char* to = static_cast<char*>(out);
  for (size_t i = 0; i < k; i += kInt8Group) {
    const size_t count = smaller(kInt8Group, k - i);
    pack_int8_group(panel + i * kPanel, count, to);
    to += 8 * kPanel + round_up(count, 4) * kPanel;
  }
}

/// Maps [min, max] of a group to 0..255, zero being exact: kernels of signed bytes want 128 less.
template <int Unsigned>
inline Int8Scale to_int8_group(const float* x, size_t n, int8_t* out) {
  Vec low = set1(0.f), high = low, fault = low;
  each(n, [&](size_t i, auto part) {
    const Vec v = load_n(x + i, part);
    low = min_v(v, low);
    high = max_v(v, high);
    fault = add(fault, sub(v, v));  // NaN where v is NaN or infinite
  });
  const float bottom = -reduce_max(sub(set1(0.f), low));
  const float range = reduce_max(high) - bottom;
  const float bad = reduce_add(fault);
  const bool flat = range < kSmallestScale;
  const float factor = flat ? 0.f : 255.f / range;
  const float zero = nearest(-bottom * factor);
  const Vec f = set1(factor), z = set1(zero), most = set1(255.f), least = set1(0.f);
  each(n, [=](size_t i, auto part) {
    const Vec q = add(round_v(mul(load_n(x + i, part), f)), z);
    store_bytes<Unsigned>(out + i, min_v(max_v(q, least), most), part);
  });
  constexpr float kOffset = Unsigned ? 0.f : 128.f;
  for (size_t i = n; i < round_up(n, 4); ++i) out[i] = static_cast<int8_t>(zero - kOffset);
  return {(flat ? 0.f : range / 255.f) + bad, zero - kOffset};
}

template <int Unsigned>
void to_int8_impl(const float* x, size_t k, int8_t* out, Int8Scale* scales) {
  for (size_t i = 0; i < k; i += kInt8Group) {
    *scales++ = to_int8_group<Unsigned>(x + i, smaller(kInt8Group, k - i), out + i);
  }
}

// ---- attention
// -----------------------------------------------------------------------------------

/// c[rows, panels * 16] = a b, without epilogue; c is scratch, whole panels wide.
inline void product(const float* a, size_t lda, size_t rows, const float* b, size_t panel_floats,
                    size_t step, size_t panels, size_t k, float* c, size_t ldc) {
  in_pieces(panels, kTilePanels, [&](size_t first, size_t count) {
    in_pieces(rows, rows_in(TileRows{}), [&](size_t row, size_t height) {
      TileF32 run = tile_of<1, false>(height, TileRows{});
      if constexpr (kTilePanels >= 2) {
        if (count == 2) run = tile_of<2, false>(height, TileRows{});
      }
      if constexpr (kTilePanels >= 3) {
        if (count == 3) run = tile_of<3, false>(height, TileRows{});
      }
      run(a + row * lda, lda, b + first * panel_floats, panel_floats, step, k,
          c + row * ldc + first * kPanel, ldc, false);
    });
  });
}

void copy_panels(const float* v, size_t stride, size_t n, size_t d, float* out) {
  for (size_t p = 0; p * kPanel < d; ++p) {
    const size_t width = smaller(kPanel, d - p * kPanel);
    for (size_t i = 0; i < n; ++i, out += kPanel) {
      each(width, [&](size_t j, auto part) {
        store(out + j, load_n(v + i * stride + p * kPanel + j, part));
      });
      for (size_t j = (width + kLanes - 1) / kLanes * kLanes; j < kPanel; j += kLanes) {
        store(out + j, set1(0.f));
      }
    }
  }
}

void attention_impl(const AttentionTask& t) {
  const size_t n16 = round_up(t.n, kPanel);
  const size_t d16 = round_up(t.d, kPanel);
  float* keys = t.scratch;           // [n16 / 16][d][16]
  float* scores = keys + n16 * t.d;  // [kQueryBlock, n16]
  float* sums = scores + kQueryBlock * n16;
  float* rows_out = sums + kQueryBlock;          // [kQueryBlock, d16]
  float* values = rows_out + kQueryBlock * d16;  // [d16 / 16][n][16]
  for (size_t p = 0; p < n16 / kPanel; ++p) {
    const std::byte* rows[kPanel];
    for (size_t r = 0; r < kPanel; ++r) {
      const size_t i = p * kPanel + r;
      rows[r] = i < t.n ? reinterpret_cast<const std::byte*>(t.k + i * t.k_stride) : nullptr;
    }
    pack_f32_impl(rows, kF32, t.d, keys + p * t.d * kPanel);
  }
  const float* v = t.v;
  size_t v_panel = kPanel;
  size_t v_step = t.v_stride;
  if (t.out && t.d % kPanel != 0) {
    copy_panels(t.v, t.v_stride, t.n, t.d, values);
    v = values;
    v_panel = t.n * kPanel;
    v_step = kPanel;
  }
  in_pieces(t.n, kQueryBlock, [&](size_t first, size_t rows) {
    product(t.q + first * t.q_stride, t.q_stride, rows, keys, t.d * kPanel, kPanel, n16 / kPanel,
            t.d, scores, n16);
    for (size_t r = 0; r < rows; ++r) {
      sums[r] = inverse_sum(exp_row(scores + r * n16, t.n, t.scale));
      if (t.probabilities) {
        float* to = t.probabilities + (first + r) * t.probabilities_stride;
        for (size_t j = 0; j < t.n; ++j) to[j] = scores[r * n16 + j] * sums[r];
      }
    }
    if (!t.out) return;
    product(scores, n16, rows, v, v_panel, v_step, d16 / kPanel, t.n, rows_out, d16);
    for (size_t r = 0; r < rows; ++r) {
      const Vec factor = set1(sums[r]);
      float* to = t.out + (first + r) * t.out_stride;
      each(t.d, [&](size_t j, auto part) {
        store_n(to + j, mul(load(rows_out + r * d16 + j), factor), part);
      });
    }
  });
}
