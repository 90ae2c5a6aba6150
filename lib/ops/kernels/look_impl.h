// Part of kernels_impl.h: one query that looks at keys which lie anywhere. Keys and values come
// from memory, so each is read once, from its begin to its end.

/// Vectors of values that are summed at a time; with their products they fill the registers.
constexpr size_t kSummed = kLanes == 16 ? 16 : 8;
/// Places that are fetched ahead.
constexpr size_t kPlacesAhead = 3;

/// Fetches `floats` of what stands kPlacesAhead places behind place j.
inline void fetch_place(const LookTask& t, size_t j, size_t from, size_t floats) {
  if (j + kPlacesAhead >= t.n) return;
  const float* next = t.keys[j + kPlacesAhead] + from;
  for (size_t i = 0; i < floats; i += 64 / sizeof(float)) __builtin_prefetch(next + i);
}

/// weights [heads, n] become the products of queries and keys.
inline void score_keys(const LookTask& t, float* weights) {
  for (size_t j = 0; j < t.n; ++j) {
    fetch_place(t, j, 0, t.heads * t.d);
    for (size_t head = 0; head < t.heads; ++head) {
      weights[head * t.n + j] = dot_impl(t.q + head * t.d, t.keys[j] + head * t.d, t.d);
    }
  }
}

/// out [d] of one head = factor * the sum over places of weights[j] * value j, each vector one
/// chain over the places.
inline void sum_head(const LookTask& t, size_t head, const float* weights, float factor) {
  const size_t begin = head * t.d;
  each(t.d, [&](size_t i, auto part) {
    Vec sum = set1(0.f);
    for (size_t j = 0; j < t.n; ++j) {
      sum = fma(set1(weights[j]), load_n(t.keys[j] + t.values + begin + i, part), sum);
    }
    store_n(t.out + begin + i, mul(sum, set1(factor)), part);
  });
}

/// The same of kSummed whole vectors from float `begin` of all heads on.
inline void sum_vectors(const LookTask& t, size_t begin, const float* weights,
                        const float* factors) {
  Vec sum[kSummed];
  const float* of_vector[kSummed];
  UNROLL for (size_t v = 0; v < kSummed; ++v) {
    sum[v] = set1(0.f);
    of_vector[v] = weights + (begin + v * kLanes) / t.d * t.n;
  }
  for (size_t j = 0; j < t.n; ++j) {
    fetch_place(t, j, t.values + begin, kSummed * kLanes);
    const float* value = t.keys[j] + t.values + begin;
    UNROLL for (size_t v = 0; v < kSummed; ++v) {
      sum[v] = fma(set1(of_vector[v][j]), load(value + v * kLanes), sum[v]);
    }
  }
  UNROLL for (size_t v = 0; v < kSummed; ++v) {
    const size_t i = begin + v * kLanes;
    store(t.out + i, mul(sum[v], set1(factors[i / t.d])));
  }
}

void look_impl(const LookTask& t) {
  float* weights = t.scratch;                  // [heads, n]
  float* factors = t.scratch + t.heads * t.n;  // [heads]
  score_keys(t, weights);
  for (size_t head = 0; head < t.heads; ++head) {
    float* own = weights + head * t.n;
    const size_t shown = head * t.shown_stride;
    const float* bias = t.bias ? t.bias + head * t.n : nullptr;
    for (size_t j = 0; bias && j < t.n; ++j) own[j] = own[j] * t.scale + bias[j];
    const float scale = bias ? 1 : t.scale;
    for (size_t j = 0; t.scores && j < t.n; ++j) t.scores[shown + j] = own[j] * scale;
    factors[head] = inverse_sum(exp_row(own, t.n, scale));
    for (size_t j = 0; t.weights && j < t.n; ++j) t.weights[shown + j] = own[j] * factors[head];
  }
  // A vector that is whole has the same bits in both forms.
  size_t begin = 0;
  if (t.d % kLanes == 0) {
    for (; begin + kSummed * kLanes <= t.heads * t.d; begin += kSummed * kLanes) {
      sum_vectors(t, begin, weights, factors);
    }
  }
  for (size_t head = begin / t.d; head < t.heads; ++head) {
    sum_head(t, head, weights + head * t.n, factors[head]);
  }
}
