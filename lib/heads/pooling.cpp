#include "heads/pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace bert {
namespace {

constexpr std::pair<std::string_view, Pooling> kModes[] = {
    {"cls", Pooling::cls},
    {"mean", Pooling::mean},
    {"max", Pooling::max},
    {"sum", Pooling::sum},
    {"mean_sqrt_len_tokens", Pooling::mean_sqrt_len_tokens},
    {"weightedmean", Pooling::weightedmean},
    {"lasttoken", Pooling::lasttoken},
};

}  // namespace

Pooling pooling_from_name(std::string_view name) {
  for (const auto& [mode_name, mode] : kModes) {
    if (mode_name == name) return mode;
  }
  throw Error(Error::Kind::usage, "",
              fmt::format("unknown pooling '{}', wants cls, mean, max, sum, mean_sqrt_len_tokens, "
                          "weightedmean or lasttoken",
                          printable(name)));
}

void pool(Pooling pooling, ConstMatrix tokens, std::span<float> out, size_t include_begin) {
  const size_t n = tokens.rows;
  // If a prompt fills the whole sequence, the reference's cls is the first token.
  const size_t first = include_begin < n ? include_begin : 0;
  if (pooling == Pooling::cls || pooling == Pooling::lasttoken) {
    std::copy_n(tokens.row(pooling == Pooling::cls ? first : n - 1), tokens.cols, out.data());
    return;
  }
  const bool is_max = pooling == Pooling::max;
  std::fill(out.begin(), out.end(), is_max ? -INFINITY : 0.0f);
  double total = 0;
  for (size_t t = std::min(include_begin, n - 1); t < n; ++t) {
    const float* row = tokens.row(t);
    const float weight = pooling == Pooling::weightedmean ? static_cast<float>(t + 1) : 1.0f;
    total += weight;
    if (is_max) {
      for (size_t i = 0; i < out.size(); ++i) out[i] = std::max(out[i], row[i]);
    } else {
      for (size_t i = 0; i < out.size(); ++i) out[i] += weight * row[i];
    }
  }
  if (is_max || pooling == Pooling::sum) return;
  const float divisor =
      static_cast<float>(pooling == Pooling::mean_sqrt_len_tokens ? std::sqrt(total) : total);
  for (float& value : out) value /= divisor;
}

void normalize_l2(std::span<float> x) {
  double sum = 0;
  for (const float value : x) sum += static_cast<double>(value) * value;
  const float norm = std::max(static_cast<float>(std::sqrt(sum)), 1e-12f);
  for (float& value : x) value /= norm;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return ab / std::max(std::sqrt(aa) * std::sqrt(bb), 1e-12);
}

}  // namespace bert
