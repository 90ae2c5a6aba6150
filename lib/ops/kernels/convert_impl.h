// Part of kernels_impl.h: conversions of number types, and weights in kernel order.

// The values of DType in dtype.h.
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
    // Prefetches the next panel: the hardware does not follow 16 streams.
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

void bf16_to_f32_impl(const void* panel, size_t k, float* out) {
  const char* from = static_cast<const char*>(panel);
  for (size_t i = 0; i < k; i += 2, out += 2 * kPanel) {
    UNROLL for (size_t j = 0; j < kPanel; j += kLanes, from += sizeof(Pairs)) {
      const Pairs pairs = load_pairs(from);
      store(out + j, even_of(pairs));
      store(out + kPanel + j, odd_of(pairs));
    }
  }
}

/// The larger absolute value, as bits: NaN is above infinity, which is above all numbers.
inline uint32_t larger_bits(uint32_t best, float x) {
  const uint32_t bits = float_bits(x) & 0x7fffffffu;
  return bits > best ? bits : best;
}

constexpr float kSmallestScale = 1e-30f;

/// Rounds to the nearest even whole number, for |x| < 2^22.
inline float nearest(float x) { return (x + 12582912.f) - 12582912.f; }

inline int32_t load_int(const void* p) {
  int32_t value;
  __builtin_memcpy(&value, p, sizeof value);
  return value;
}

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
      // NaN compares false and becomes 0; the scale of its group is NaN.
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

/// Maps [min, max] of a group to 0..255; zero stays exact.
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
    store_bytes(out + i, min_v(max_v(q, least), most), part);
  });
  for (size_t i = n; i < round_up(n, 4); ++i) out[i] = 0;
  return {(flat ? 0.f : range / 255.f) + bad, zero};
}

inline void to_int8_impl(const float* x, size_t k, void* out, Int8Scale* scales) {
  int8_t* to = static_cast<int8_t*>(out);
  for (size_t i = 0; i < k; i += kInt8Group) {
    *scales++ = to_int8_group(x + i, smaller(kInt8Group, k - i), to + i);
  }
}
