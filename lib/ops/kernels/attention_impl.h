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

/// Scales the scores [n] of query i and adds its biases. Returns the scale that is left to do.
inline float add_bias(const AttentionTask& t, size_t i, float* scores) {
  if (!t.bias) return t.scale;
  const float* bias = t.bias + (t.n - 1 - i);
  const Vec scale = set1(t.scale);
  each(t.n, [&](size_t j, auto part) {
    store_n(scores + j, fma(load_n(scores + j, part), scale, load_n(bias + j, part)), part);
  });
  return 1;
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
      const float scale = add_bias(t, first + r, scores + r * n16);
      if (t.scores) {
        float* to = t.scores + (first + r) * t.scores_stride;
        for (size_t j = 0; j < t.n; ++j) to[j] = scores[r * n16 + j] * scale;
      }
      sums[r] = inverse_sum(exp_row(scores + r * n16, t.n, scale));
      if (t.probabilities) {
        float* to = t.probabilities + (first + r) * t.probabilities_stride;
        for (size_t j = 0; j < t.n; ++j) to[j] = scores[r * n16 + j] * sums[r];
      }
    }
    if (!t.out) return;
    product(scores, n16, rows, v, v_panel, v_step, d16 / kPanel, t.n, rows_out, d16);
    write_rows(t, first, rows, rows_out, sums);
  });
}
