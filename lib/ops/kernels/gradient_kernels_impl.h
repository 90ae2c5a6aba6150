// The kernels of training, written once for all instruction sets. kernels_{plain,avx2,avx512}.cpp
// include it after kernels_impl.h, whose rules hold here too.

// 1 / sqrt(2 pi) e^(-x^2 / 2)
inline Vec normal_density(Vec x) {
  return mul(set1(0.3989422804014327f), exp_v(mul(set1(-0.5f), mul(x, x))));
}

/// act'(x)
template <int A>
inline Vec act_slope(Vec x) {
  const Vec one = set1(1.f);
  switch (A) {
    case kGelu:
      return fma(x, normal_density(x), add(set1(0.5f), half_erf(x)));
    case kGeluTanh: {
      const Vec square = mul(x, x);
      const Vec c = set1(0.7978845608028654f);
      const Vec t = tanh_v(mul(mul(x, c), fma(square, set1(0.044715f), one)));
      const Vec inner_slope = mul(c, fma(square, set1(3 * 0.044715f), one));
      const Vec half = set1(0.5f);
      return fma(mul(mul(half, x), sub(one, mul(t, t))), inner_slope, mul(half, add(one, t)));
    }
    case kGeluQuick: {
      const Vec s = sigmoid_v(mul(x, set1(1.702f)));
      return fma(mul(mul(set1(1.702f), x), s), sub(one, s), s);
    }
    case kRelu:
      return sub(one, zero_below(sub(set1(0.f), x), 0.f, one));  // 0 at 0, as in PyTorch
    case kSilu: {
      const Vec s = sigmoid_v(x);
      return mul(s, fma(x, sub(one, s), one));
    }
    case kTanh: {
      const Vec t = tanh_v(x);
      return sub(one, mul(t, t));
    }
    case kSigmoid: {
      const Vec s = sigmoid_v(x);
      return mul(s, sub(one, s));
    }
    default:
      return one;
  }
}

template <int A>
void activate_backward_as(const float* x, size_t n, float* dy) {
  each(n, [=](size_t i, auto part) {
    store_n(dy + i, mul(load_n(dy + i, part), act_slope<A>(load_n(x + i, part))), part);
  });
}

void activate_backward_impl(int activation, const float* x, size_t n, float* dy) {
  switch (activation) {
    case kGelu:
      return activate_backward_as<kGelu>(x, n, dy);
    case kGeluTanh:
      return activate_backward_as<kGeluTanh>(x, n, dy);
    case kGeluQuick:
      return activate_backward_as<kGeluQuick>(x, n, dy);
    case kRelu:
      return activate_backward_as<kRelu>(x, n, dy);
    case kSilu:
      return activate_backward_as<kSilu>(x, n, dy);
    case kTanh:
      return activate_backward_as<kTanh>(x, n, dy);
    case kSigmoid:
      return activate_backward_as<kSigmoid>(x, n, dy);
    default:
      return;
  }
}

void layer_norm_keep_impl(const float* x, size_t n, const float* weight, const float* bias,
                          float eps, float* out, float* statistics) {
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
  statistics[0] = mean;
  statistics[1] = 1.f / __builtin_sqrtf(variance + eps);
  const Vec r = set1(statistics[1]);
  each(n, [=](size_t i, auto part) {
    const Vec normal = mul(sub(load_n(x + i, part), m), r);
    const Vec shift = bias ? load_n(bias + i, part) : set1(0.f);
    store_n(out + i, fma(normal, load_n(weight + i, part), shift), part);
  });
}

// With x^ = (x - mean) r and g = dy weight:  dx = r (g - mean(g) - x^ mean(g x^)).
void layer_norm_backward_impl(const float* x, size_t n, const float* weight,
                              const float* statistics, const float* dy, float* dx, float* d_weight,
                              float* d_bias) {
  const Vec m = set1(statistics[0]);
  const Vec r = set1(statistics[1]);
  Vec sum = set1(0.f), sum_normal = set1(0.f);
  each(n, [&](size_t i, auto part) {
    const Vec normal = mul(sub(load_n(x + i, part), m), r);
    const Vec d = load_n(dy + i, part);
    const Vec g = mul(d, load_n(weight + i, part));
    sum = add(sum, g);
    sum_normal = fma(g, normal, sum_normal);
    store_n(d_weight + i, fma(d, normal, load_n(d_weight + i, part)), part);
    if (d_bias) store_n(d_bias + i, add(d, load_n(d_bias + i, part)), part);
  });
  const float count = static_cast<float>(n);
  const Vec mean_g = set1(reduce_add(sum) / count);
  const Vec mean_g_normal = set1(reduce_add(sum_normal) / count);
  each(n, [=](size_t i, auto part) {
    const Vec normal = mul(sub(load_n(x + i, part), m), r);
    const Vec g = mul(load_n(dy + i, part), load_n(weight + i, part));
    store_n(dx + i, mul(r, sub(sub(g, mean_g), mul(normal, mean_g_normal))), part);
  });
}

float softmax_keep_impl(float* x, size_t n, float scale) {
  const float top = row_max(x, n);
  const float sum = exp_row(x, n, scale);
  const Vec factor = set1(inverse_sum(sum));
  each(n, [=](size_t i, auto part) { store_n(x + i, mul(load_n(x + i, part), factor), part); });
  return top * scale + __builtin_logf(sum);
}

void softmax_again_impl(float* x, size_t n, float scale, float log_sum) {
  const Vec s = set1(scale), l = set1(-log_sum);
  each(n,
       [=](size_t i, auto part) { store_n(x + i, exp_v(fma(load_n(x + i, part), s, l)), part); });
}

void softmax_backward_impl(const float* p, size_t n, float sum, float scale, float* dp) {
  const Vec total = set1(sum), s = set1(scale);
  each(n, [=](size_t i, auto part) {
    const Vec d = sub(load_n(dp + i, part), total);
    store_n(dp + i, mul(mul(load_n(p + i, part), d), s), part);
  });
}

void axpy_impl(float a, const float* x, size_t n, float* y) {
  const Vec factor = set1(a);
  each(n, [=](size_t i, auto part) {
    store_n(y + i, fma(factor, load_n(x + i, part), load_n(y + i, part)), part);
  });
}

double sum_squares_impl(const float* x, size_t n) {
  double total = 0;
  for (size_t i = 0; i < n; i += 1024) {
    const size_t count = smaller(1024, n - i);
    total += static_cast<double>(dot_impl(x + i, x + i, count));
  }
  return total;
}

inline Vec sqrt_v(Vec x);  // each kernels_*.cpp defines it

/// AdamW (Loshchilov and Hutter 2019) with PyTorch's result: the step is added to the decayed
/// value.
template <bool kHasGradient>
void adamw_as(const AdamWTask& t) {
  const Vec beta1 = set1(t.beta1), rest1 = set1(t.rest1);
  const Vec beta2 = set1(t.beta2), rest2 = set1(t.rest2);
  const Vec scale = set1(t.gradient_scale), keep = set1(t.keep), step = set1(-t.step);
  const Vec correction = set1(1.f / t.root_bias_correction2), epsilon = set1(t.epsilon);
  each(t.n, [=](size_t i, auto part) {
    Vec first = mul(beta1, load_n(t.first + i, part));
    Vec second = mul(beta2, load_n(t.second + i, part));
    if constexpr (kHasGradient) {
      const Vec g = mul(scale, load_n(t.gradient + i, part));
      first = fma(rest1, g, first);
      second = fma(mul(rest2, g), g, second);
    }
    const Vec root = fma(sqrt_v(second), correction, epsilon);
    const Vec value = mul(keep, load_n(t.value + i, part));
    store_n(t.value + i, fma(step, div(first, root), value), part);
    store_n(t.first + i, first, part);
    store_n(t.second + i, second, part);
  });
}

void adamw_impl(const AdamWTask& t) { return t.gradient ? adamw_as<true>(t) : adamw_as<false>(t); }

/// Plain code that the compiler vectorises.
void dropout_impl(uint64_t key, uint32_t dropped, float scale, float* x, size_t n) {
  const auto low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  for (size_t i = 0; i < n; ++i) {
    uint32_t h = static_cast<uint32_t>(i) * 0x9E3779B9u + low;  // murmur3's finaliser, with both
                                                                // halves of the key
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h ^= high;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    h ^= h >> 16;
    const float factor = h < dropped ? 0.f : scale;
    x[i] *= factor;
  }
}

const GradientTable kGradientTable = {activate_backward_impl,
                                      layer_norm_keep_impl,
                                      layer_norm_backward_impl,
                                      softmax_keep_impl,
                                      softmax_again_impl,
                                      softmax_backward_impl,
                                      axpy_impl,
                                      sum_squares_impl,
                                      adamw_impl,
                                      dropout_impl};
