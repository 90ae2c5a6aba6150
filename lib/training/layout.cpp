#include "training/layout.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"

namespace bert::training {

Layout::Layout(std::vector<TensorSpec> specs) {
  for (TensorSpec& spec : specs) add(std::move(spec));
}

void Layout::add(TensorSpec spec) {
  if (!spec.required || find(spec.name)) return;  // two heads share it
  Parameter p;
  static_cast<TensorSpec&>(p) = std::move(spec);
  p.size = 1;
  for (const size_t n : p.shape) p.size *= n;
  p.decays = p.initial == Initial::drawn && p.role != Role::relative_attention_bias;
  // Query, key and value are one matrix for the product, so there is no gap between them.
  if (!p.joins) floats_ = (floats_ + 15) / 16 * 16;
  p.offset = floats_;
  floats_ += p.size;
  parameters_.push_back(std::move(p));
}

const Parameter* Layout::find(std::string_view name) const {
  for (const Parameter& p : parameters_) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

Matrix Layout::matrix(std::string_view name, float* base) const {
  const Parameter* p = find(name);
  if (!p) return {};
  const size_t rows = p->shape.size() == 1 ? 1 : p->shape[0];
  return {base + p->offset, rows, p->size / rows};
}

std::vector<FileTensor> plain_tensors(const Layout& layout, const std::string& prefix) {
  std::vector<FileTensor> tensors;
  for (const Parameter& p : layout.parameters()) {
    tensors.push_back({prefix + p.name, p.shape, {{p.offset, p.size}}});
  }
  return tensors;
}

namespace {

uint64_t key_of(std::string_view name, uint64_t seed) {
  for (const char c : name) seed = mix(seed, static_cast<unsigned char>(c));
  return seed;
}

}  // namespace

void draw_uniform(std::string_view name, uint64_t seed, size_t in, std::span<float> values) {
  const uint64_t key = key_of(name, seed);
  const double range = 1 / std::sqrt(static_cast<double>(in));
  for (size_t i = 0; i < values.size(); ++i) {
    const double uniform = static_cast<double>(mix(key, i) >> 11) * 0x1p-53;
    values[i] = static_cast<float>(range * (2 * uniform - 1));
  }
}

/// Normal random numbers by Box and Muller, two at a time.
void draw_parameter(const Parameter& p, uint64_t seed, float deviation, float* base) {
  float* const to = base + p.offset;
  if (p.initial != Initial::drawn) {
    std::fill_n(to, p.size, p.initial == Initial::ones ? 1.f : 0.f);
    return;
  }
  const uint64_t key = key_of(p.name, seed);
  for (size_t i = 0; i < p.size; i += 2) {
    const auto uniform = [&](uint64_t n) {
      return (static_cast<double>(mix(key, n) >> 11) + 0.5) * 0x1p-53;
    };
    const double radius = deviation * std::sqrt(-2 * std::log(uniform(i)));
    const double angle = 2 * std::numbers::pi * uniform(i + 1);
    to[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < p.size) to[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

void draw_parameters(const Layout& layout, uint64_t seed, float deviation, float* base) {
  for (const Parameter& p : layout.parameters()) draw_parameter(p, seed, deviation, base);
}

}  // namespace bert::training
