// Part of kernels_impl.h: elementary functions, and kernels of one row.

/// e^x within about 1 ulp; 0 below -87.3 (so no denormals), inf above 88.7; NaN stays NaN.
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

// Minimax approximations; the rational ones are within 2e-7. All overshoot at the end of their
// range, so clamping makes them exact beyond it: gelu(-100) is exactly 0, not 100 times a rounding
// error.

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

/// The same within 1.6e-5.
inline Vec half_erf_near(Vec x) {
  x = min_v(set1(4.35f), max_v(set1(-4.35f), x));
  const Vec s = mul(x, x);
  Vec p = set1(4.784977582e-11f);
  p = fma(p, s, set1(-4.758420225e-09f));
  p = fma(p, s, set1(2.085235059e-07f));
  p = fma(p, s, set1(-5.358234942e-06f));
  p = fma(p, s, set1(9.103042684e-05f));
  p = fma(p, s, set1(-1.096609322e-03f));
  p = fma(p, s, set1(9.784619133e-03f));
  p = fma(p, s, set1(-6.630809919e-02f));
  p = fma(p, s, set1(3.988902478e-01f));
  return min_v(set1(0.5f), max_v(set1(-0.5f), mul(x, p)));
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

// The values of Activation in linear.h.
enum Act { kNone, kGelu, kGeluTanh, kGeluQuick, kRelu, kSilu, kTanh, kSigmoid };

template <int A>
inline Vec act_v(Vec x) {
  switch (A) {
    case kGelu:
      return mul(x, add(set1(0.5f), half_erf(x)));
    case kGeluNear:
      return mul(x, add(set1(0.5f), half_erf_near(x)));
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

/// Calls f(i, part) for each vector of a row. `part` is All, or for a shorter last vector its
/// number of elements.
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
    case kGeluNear:
      return activate_as<kGeluNear>(x, n);
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

/// chain = f(i, part, chain) over a row, in four chains of fixed order, which `join` combines at
/// the end.
template <typename F, typename Join>
inline Vec in_chains(size_t n, Vec start, F&& f, Join&& join) {
  Vec s0 = start, s1 = start, s2 = start, s3 = start;
  size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    s0 = f(i, All{}, s0);
    s1 = f(i + kLanes, All{}, s1);
    s2 = f(i + 2 * kLanes, All{}, s2);
    s3 = f(i + 3 * kLanes, All{}, s3);
  }
  for (; i + kLanes <= n; i += kLanes) s0 = f(i, All{}, s0);
  if (i < n) s1 = f(i, n - i, s1);
  return join(join(s0, s1), join(s2, s3));
}

template <typename F>
inline float row_sum(size_t n, F&& f) {
  return reduce_add(in_chains(n, set1(0.f), f, add));
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

void rms_norm_impl(const float* x, size_t n, const float* weight, float eps, float* out) {
  const float squares = row_sum(n, [x](size_t i, auto part, Vec sum) {
    const Vec value = load_n(x + i, part);
    return fma(value, value, sum);
  });
  const Vec r = set1(1.f / __builtin_sqrtf(squares / static_cast<float>(n) + eps));
  each(n, [=](size_t i, auto part) {
    store_n(out + i, mul(mul(load_n(x + i, part), r), load_n(weight + i, part)), part);
  });
}

void add_impl(const float* y, size_t n, float* x) {
  each(n, [=](size_t i, auto part) {
    store_n(x + i, add(load_n(x + i, part), load_n(y + i, part)), part);
  });
}

void multiply_impl(const float* x, const float* y, size_t n, float* out) {
  each(n, [=](size_t i, auto part) {
    store_n(out + i, mul(load_n(x + i, part), load_n(y + i, part)), part);
  });
}

float dot_impl(const float* a, const float* b, size_t n) {
  return row_sum(n, [a, b](size_t i, auto part, Vec sum) {
    return fma(load_n(a + i, part), load_n(b + i, part), sum);
  });
}

constexpr float kInfinity = __builtin_inff();

float row_max(const float* x, size_t n) {
  const auto best = [x](size_t i, auto part, Vec chain) {
    return max_v(load_or(x + i, part, -kInfinity), chain);
  };
  return reduce_max(in_chains(n, set1(-kInfinity), best, max_v));
}

/// x = e^((x - max) scale); returns the sum, by which softmax divides. A NaN makes the sum NaN.
inline float exp_row(float* x, size_t n, float scale) {
  const float top = row_max(x, n);
  if (top == -kInfinity) {  // all are -inf or NaN
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

/// The sum of e^(x - top).
float exp_sum_impl(const float* x, size_t n, float top) {
  const Vec m = set1(top);
  return row_sum(n, [x, m](size_t i, auto part, Vec sum) {
    return add(sum, keep_n(exp_v(sub(load_n(x + i, part), m)), part));
  });
}

inline float inverse_sum(float sum) { return sum == 0.f ? 0.f : 1.f / sum; }

void softmax_impl(float* x, size_t n) {
  const Vec factor = set1(inverse_sum(exp_row(x, n, 1.f)));
  each(n, [=](size_t i, auto part) { store_n(x + i, mul(load_n(x + i, part), factor), part); });
}
