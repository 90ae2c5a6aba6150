// Part of kernels_impl.h: one query that looks at keys which lie anywhere.

/// out [d] = factor * the sum over places of weights[j] * value j of one head. Four vectors at
/// once, each one chain over the places.
inline void sum_values(const LookTask& t, size_t head, const float* weights, float factor) {
  const size_t begin = head * t.d;
  const Vec f = set1(factor);
  size_t i = 0;
  for (; i + 4 * kLanes <= t.d; i += 4 * kLanes) {
    Vec s0 = set1(0.f), s1 = s0, s2 = s0, s3 = s0;
    for (size_t j = 0; j < t.n; ++j) {
      const float* v = t.keys[j] + t.values + begin + i;
      const Vec w = set1(weights[j]);
      s0 = fma(w, load(v), s0);
      s1 = fma(w, load(v + kLanes), s1);
      s2 = fma(w, load(v + 2 * kLanes), s2);
      s3 = fma(w, load(v + 3 * kLanes), s3);
    }
    float* to = t.out + begin + i;
    store(to, mul(s0, f));
    store(to + kLanes, mul(s1, f));
    store(to + 2 * kLanes, mul(s2, f));
    store(to + 3 * kLanes, mul(s3, f));
  }
  each(t.d - i, [&](size_t rest, auto part) {
    Vec sum = set1(0.f);
    for (size_t j = 0; j < t.n; ++j) {
      const float* v = t.keys[j] + t.values + begin + i + rest;
      sum = fma(set1(weights[j]), load_n(v, part), sum);
    }
    store_n(t.out + begin + i + rest, mul(sum, f), part);
  });
}

void look_impl(const LookTask& t) {
  for (size_t head = 0; head < t.heads; ++head) {
    const float* q = t.q + head * t.d;
    for (size_t j = 0; j < t.n; ++j) t.scratch[j] = dot_impl(q, t.keys[j] + head * t.d, t.d);
    if (t.scores) {
      for (size_t j = 0; j < t.n; ++j) {
        t.scores[head * t.shown_stride + j] = t.scratch[j] * t.scale;
      }
    }
    const float factor = inverse_sum(exp_row(t.scratch, t.n, t.scale));
    if (t.weights) {
      for (size_t j = 0; j < t.n; ++j) {
        t.weights[head * t.shown_stride + j] = t.scratch[j] * factor;
      }
    }
    sum_values(t, head, t.scratch, factor);
  }
}
