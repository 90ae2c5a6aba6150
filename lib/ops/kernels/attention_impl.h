// Part of kernels_impl.h: one head of one sequence.

/// c [rows, panels * 16] = a b, without epilogue; c is scratch of whole panels.
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
          c + row * ldc + first * kPanel, ldc, false, {reinterpret_cast<const char*>(b), 0});
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

/// Writes rows [first, first + rows) of t.out: `from` [rows, d16] times one factor per row.
inline void write_rows(const AttentionTask& t, size_t first, size_t rows, const float* from,
                       const float* factors) {
  const size_t d16 = round_up(t.d, kPanel);
  for (size_t r = 0; r < rows; ++r) {
    const Vec factor = set1(factors[r]);
    float* to = t.out + (first + r) * t.out_stride;
    each(t.d, [&](size_t j, auto part) {
      store_n(to + j, mul(load(from + r * d16 + j), factor), part);
    });
  }
}

/// Scales the scores [n] of query i with the keys from `key` on and adds its biases. Returns the
/// scale that is left to do.
inline float add_bias(const AttentionTask& t, size_t i, size_t key, size_t n, float* scores) {
  if (!t.bias) return t.scale;
  const float* bias = t.bias + static_cast<ptrdiff_t>(i) * t.bias_step + key;
  const Vec scale = set1(t.scale);
  each(n, [&](size_t j, auto part) {
    store_n(scores + j, fma(load_n(scores + j, part), scale, load_n(bias + j, part)), part);
  });
  return 1;
}

/// A row of scores as the caller of a trace gets it: scores [count] of the keys from `key` on times
/// `factor`, `outside` for all others.
inline void show_row(const float* scores, float factor, size_t key, size_t count, float outside,
                     size_t n, float* to) {
  for (size_t j = 0; j < key; ++j) to[j] = outside;
  for (size_t j = 0; j < count; ++j) to[key + j] = scores[j] * factor;
  for (size_t j = key + count; j < n; ++j) to[j] = outside;
}

/// The scores [keys], from key `begin` on, of query i: what the query sees becomes e^score, all
/// else 0. Returns 1 / their sum.
inline float softmax_row(const AttentionTask& t, size_t i, size_t begin, size_t keys,
                         float* scores) {
  const size_t seen = (i > t.window ? i - t.window : 0) > begin ? i - t.window : begin;
  const size_t end = t.ahead < t.n - 1 - i ? i + t.ahead + 1 : t.n;
  float* row = scores + (seen - begin);
  const float scale = add_bias(t, i, seen, end - seen, row);
  if (t.scores) {
    show_row(row, scale, seen, end - seen, -__builtin_inff(), t.n, t.scores + i * t.scores_stride);
  }
  const float factor = inverse_sum(exp_row(row, end - seen, scale));
  for (size_t j = 0; j < seen - begin; ++j) scores[j] = 0;
  for (size_t j = end - begin; j < keys; ++j) scores[j] = 0;
  if (t.probabilities) {
    show_row(row, factor, seen, end - seen, 0, t.n, t.probabilities + i * t.probabilities_stride);
  }
  return factor;
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
    // The keys that some query of the block sees: whole panels from key `begin` on.
    const size_t begin = first > t.window ? (first - t.window) / kPanel * kPanel : 0;
    const size_t last = first + rows;  // behind the last query
    const size_t end = t.ahead < t.n - last ? last + t.ahead : t.n;
    const size_t seen = end - begin, panels = round_up(seen, kPanel) / kPanel;
    product(t.q + first * t.q_stride, t.q_stride, rows, keys + begin * t.d, t.d * kPanel, kPanel,
            panels, t.d, scores, n16);
    for (size_t r = 0; r < rows; ++r) {
      sums[r] = softmax_row(t, first + r, begin, seen, scores + r * n16);
    }
    if (!t.out) return;
    product(scores, n16, rows, v + begin * v_step, v_panel, v_step, d16 / kPanel, seen, rows_out,
            d16);
    write_rows(t, first, rows, rows_out, sums);
  });
}
