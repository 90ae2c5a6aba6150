// Part of kernels_avx512_vnni.cpp and kernels_amx.cpp: converts floats to bfloat16 by the CPU's
// instruction. It rounds to nearest even and treats denormal numbers as zeros, as the products of
// bf16 do.

/// Two rows as pairs of bf16: `even` in the lower half of each lane, `odd` in the upper half.
inline __m512i bf16_pairs(Vec even, Vec odd) {
  const __m512i index = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(index, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/// The first n of 32 floats as bf16; the others are zeros.
inline __m512i bf16_of_32(const float* x, size_t n) {
  const size_t low = smaller(n, kLanes);
  return (__m512i)_mm512_cvtne2ps_pbh(load_n(x + low, n - low), load_n(x, low));
}

void bf16_columns_impl(const float* x, size_t stride, size_t k, size_t n, void* out) {
  char* to = static_cast<char*>(out);
  for (size_t i = 0; i < k; i += 2, to += 64) {
    const Vec odd = i + 1 < k ? load_n(x + (i + 1) * stride, n) : set1(0.f);
    _mm512_storeu_si512(to, bf16_pairs(load_n(x + i * stride, n), odd));
  }
}

void bf16_rows_impl(const float* x, size_t stride, size_t n, size_t k, void* out) {
  alignas(64) float pairs[kPanel * kPanel] = {}, panel[kPanel * kPanel];
  const std::byte* rows[kPanel];
  for (size_t r = 0; r < kPanel; ++r) rows[r] = reinterpret_cast<std::byte*>(pairs + r * kPanel);
  for (size_t i = 0; i < k; i += 32) {
    const size_t count = smaller(32, k - i);
    for (size_t r = 0; r < n; ++r) {
      _mm512_store_si512(pairs + r * kPanel, bf16_of_32(x + r * stride + i, count));
    }
    transpose16<1>(rows, panel);
    __builtin_memcpy(static_cast<char*>(out) + i * 32, panel, round_up(count, 2) * 32);
  }
}

void bf16_transpose_impl(const float* x, size_t stride, size_t k, size_t n, size_t ld,
                         uint16_t* out) {
  alignas(64) float panel[kPanel * kPanel], pairs[kPanel * kPanel];
  const std::byte* rows[kPanel];
  for (size_t r = 0; r < kPanel; ++r) rows[r] = reinterpret_cast<std::byte*>(panel + r * kPanel);
  for (size_t i = 0; i < k; i += 32) {
    const size_t count = smaller(32, k - i);
    bf16_columns_impl(x + i * stride, stride, count, n, panel);
    transpose16<1>(rows, pairs);
    const __mmask32 some = static_cast<__mmask32>((uint64_t{1} << round_up(count, 2)) - 1);
    for (size_t r = 0; r < n; ++r) {
      _mm512_mask_storeu_epi16(out + r * ld + i, some, _mm512_load_si512(pairs + r * kPanel));
    }
  }
}

/// n floats as bf16, filled up with zeros to a multiple of 32.
inline void bf16_padded(const float* x, size_t n, uint16_t* out) {
  for (size_t i = 0; i < n; i += 32) {
    _mm512_storeu_si512(out + i, bf16_of_32(x + i, smaller(32, n - i)));
  }
}

/// 2^x for x <= 0 within 3e-6, far below bf16's rounding; the least result is 2^-126. NaN stays
/// NaN.
inline Vec exp2_v(Vec x) {
  x = max_v(set1(-126.f), x);
  const Vec n = round_v(x), f = sub(x, n);
  Vec p = set1(9.58285318e-3f);
  p = fma(p, f, set1(5.59064262e-2f));
  p = fma(p, f, set1(2.40240986e-1f));
  p = fma(p, f, set1(6.93124193e-1f));
  return scale2(fma(p, f, set1(1.f)), n);
}

/// exp_row that writes bf16, filled up with zeros to a multiple of 32.
inline float bf16_exp_row(float* x, size_t n, float scale, uint16_t* out) {
  const float top = row_max(x, n);
  if (top == -kInfinity) {
    const float sum = exp_row(x, n, scale);
    bf16_padded(x, n, out);
    return sum;
  }
  scale *= 1.44269504f;  // log2(e)
  const Vec s = set1(scale), m = set1(-top * scale);
  Vec sum[2] = {set1(0.f), set1(0.f)};
  const auto pair = [&](size_t i, auto low, auto high) {
    const Vec e0 = keep_n(exp2_v(fma(load_n(x + i, low), s, m)), low);
    const Vec e1 = keep_n(exp2_v(fma(load_n(x + i + kLanes, high), s, m)), high);
    sum[0] = add(sum[0], e0);
    sum[1] = add(sum[1], e1);
    _mm512_storeu_si512(out + i, (__m512i)_mm512_cvtne2ps_pbh(e1, e0));
  };
  size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) pair(i, All{}, All{});
  if (i < n) pair(i, smaller(kLanes, n - i), n - i - smaller(kLanes, n - i));
  return reduce_add(add(sum[0], sum[1]));
}

/// c [rows, cols] = a [rows, k] b, in whole panels.
template <void (*Gemm)(const GemmTask&)>
void bf16_product(const uint16_t* a, size_t k, const uint16_t* b, size_t rows, float* c,
                  size_t cols) {
  GemmTask task;
  task.a = a;
  task.lda = task.k = k;
  task.b = b;
  task.panel_stride = k * kPanel * sizeof(uint16_t);
  task.rows = rows;
  task.panels = cols / kPanel;
  task.cols = task.ldc = cols;
  task.c = c;
  Gemm(task);
}

/// attention_impl with products of bf16: queries, keys, values and probabilities are rounded; sums
/// and softmax are float.
template <void (*Gemm)(const GemmTask&)>
void attention_bf16_impl(const AttentionTask& t) {
  const size_t n16 = round_up(t.n, kPanel), n32 = round_up(t.n, 32);
  const size_t d16 = round_up(t.d, kPanel), d32 = round_up(t.d, 32);
  float* scores = t.scratch;  // [kQueryBlock, n16]
  float* sums = scores + kQueryBlock * n16;
  float* rows_out = sums + kQueryBlock;  // [kQueryBlock, d16]
  auto* keys =
      reinterpret_cast<uint16_t*>(rows_out + kQueryBlock * d16);  // [n16 / 16][d32 / 2][16][2]
  uint16_t* values = keys + n16 * d32;                            // [d16 / 16][n32 / 2][16][2]
  uint16_t* queries = values + d16 * n32;                         // [kQueryBlock, d32]
  uint16_t* chances = queries + kQueryBlock * d32;                // [kQueryBlock, n32]
  __builtin_memset(keys, 0, (n16 * d32 + d16 * n32) * sizeof(uint16_t));
  for (size_t i = 0; i < t.n; i += kPanel) {
    bf16_rows_impl(t.k + i * t.k_stride, t.k_stride, smaller(kPanel, t.n - i), t.d, keys + i * d32);
  }
  for (size_t j = 0; j < t.d; j += kPanel) {
    bf16_columns_impl(t.v + j, t.v_stride, t.n, smaller(kPanel, t.d - j), values + j * n32);
  }
  in_pieces(t.n, kQueryBlock, [&](size_t first, size_t rows) {
    for (size_t r = 0; r < rows; ++r) {
      bf16_padded(t.q + (first + r) * t.q_stride, t.d, queries + r * d32);
    }
    bf16_product<Gemm>(queries, d32, keys, rows, scores, n16);
    for (size_t r = 0; r < rows; ++r) {
      const float scale = add_bias(t, first + r, 0, t.n, scores + r * n16);
      sums[r] = inverse_sum(bf16_exp_row(scores + r * n16, t.n, scale, chances + r * n32));
    }
    bf16_product<Gemm>(chances, n32, values, rows, rows_out, d16);
    write_rows(t, first, rows, rows_out, sums);
  });
}
