// Part of kernels_{avx512_vnni,amx,neon_i8mm}.cpp: converts floats to bfloat16 by the CPU's
// instruction (store_pairs, store_halfs). It rounds to nearest even; that of x86 treats denormal
// numbers as zeros, as the products of bf16 do.

/// n floats as bf16, filled up with zeros to a multiple of 32.
inline void bf16_padded(const float* x, size_t n, uint16_t* out) {
  for (size_t i = 0; i < round_up(n, 32); i += 2 * kLanes) {
    const size_t low = smaller(n, i + kLanes), high = smaller(n, i + 2 * kLanes);
    store_halfs(out + i, load_some(x + i, low - smaller(n, i)), load_some(x + low, high - low));
  }
}

void bf16_columns_impl(const float* x, size_t stride, size_t k, size_t n, void* out) {
  char* to = static_cast<char*>(out);
  for (size_t i = 0; i < k; i += 2, to += 64) {
    for (size_t j = 0; j < kPanel; j += kLanes) {
      const float* even = x + i * stride + j;
      const size_t some = n - smaller(n, j);
      store_pairs(to + 4 * j, load_some(even, some),
                  load_some(even + stride, i + 1 < k ? some : 0));
    }
  }
}

void bf16_rows_impl(const float* x, size_t stride, size_t n, size_t k, void* out) {
  alignas(64) float pairs[kPanel * kPanel] = {}, panel[kPanel * kPanel];
  const std::byte* rows[kPanel];
  for (size_t r = 0; r < kPanel; ++r) rows[r] = reinterpret_cast<std::byte*>(pairs + r * kPanel);
  for (size_t i = 0; i < k; i += 32) {
    const size_t count = smaller(32, k - i);
    for (size_t r = 0; r < n; ++r) {
      bf16_padded(x + r * stride + i, count, reinterpret_cast<uint16_t*>(pairs + r * kPanel));
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
    for (size_t r = 0; r < n; ++r) {
      copy_halfs(out + r * ld + i, pairs + r * kPanel, round_up(count, 2));
    }
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
    store_halfs(out + i, e0, e1);
  };
  size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) pair(i, All{}, All{});
  if (i < n) {
    pair(i, smaller(kLanes, n - i), n - i - smaller(kLanes, n - i));
    i += 2 * kLanes;
  }
  for (; i < round_up(n, 32); i += 2 * kLanes) store_halfs(out + i, set1(0.f), set1(0.f));
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

/// What a set has whose products of bf16 are Gemm.
template <void (*Gemm)(const GemmTask&)>
void set_bf16(KernelTable& table) {
  table.gemm_bf16 = Gemm;
  table.bf16_columns = bf16_columns_impl;
  table.bf16_rows = bf16_rows_impl;
  table.bf16_transpose = bf16_transpose_impl;
  table.attention_bf16 = attention_bf16_impl<Gemm>;
}
