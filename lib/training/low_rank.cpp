#include "training/low_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "ops/gradient_kernels.h"

namespace bert::training {
namespace {

constexpr std::string_view kPrefix = "lora.";
constexpr std::string_view kWeight = ".weight";

/// The parameter that a piece lies in.
const Parameter* parameter_of(const Layout& layout, const FileTensor::Piece& piece) {
  for (const Parameter& p : layout.parameters()) {
    if (piece.offset >= p.offset && piece.offset < p.offset + p.size) return &p;
  }
  return nullptr;
}

/// Whether it is a matrix by which a layer multiplies its vectors.
bool multiplies(const Parameter& p) {
  constexpr Role kOthers[] = {Role::relative_attention_bias, Role::relative_embeddings,
                              Role::distance_bias, Role::convolution};
  return p.depth > 0 && p.part == Part::weight && p.shape.size() == 2 &&
         is_encoder_tensor(p.name) &&
         std::find(std::begin(kOthers), std::end(kOthers), p.role) == std::end(kOthers);
}

bool is_target(const std::string& module, Role role, const LowRankPlan& plan,
               std::set<std::string>& used) {
  if (plan.targets.empty()) return role == Role::query || role == Role::value;
  for (const std::string& target : plan.targets) {
    if (target != "all" && module != target && !module.ends_with("." + target)) continue;
    used.insert(target);
    return true;
  }
  return false;
}

TensorSpec spec(const std::string& name, std::vector<size_t> shape, int32_t depth) {
  TensorSpec made;
  made.name = std::string(kPrefix) + name;
  made.shape = std::move(shape);
  made.depth = depth;
  return made;
}

}  // namespace

bool is_low_rank(const std::string& name) { return name.starts_with(kPrefix); }

LowRank::LowRank(const LowRankPlan& plan, const std::vector<FileTensor>& tensors, Layout& layout)
    : rank_(plan.rank), scale_(plan.scale()) {
  std::set<std::string> used;
  std::vector<TensorSpec> specs;
  for (const FileTensor& tensor : tensors) {
    if (tensor.shape.size() != 2 || !tensor.name.ends_with(kWeight)) continue;
    bool changes = false;
    int32_t depth = 0;
    const std::string module = tensor.name.substr(0, tensor.name.size() - kWeight.size());
    for (const FileTensor::Piece& piece : tensor.pieces) {
      const Parameter* p = parameter_of(layout, piece);
      changes |= p && multiplies(*p) && is_target(module, p->role, plan, used);
      depth = p ? p->depth : 0;
    }
    if (!changes) continue;
    matrices_.push_back({module, tensor.shape[0], tensor.shape[1], tensor.pieces});
    specs.push_back(spec(module + ".lora_A", {rank_, tensor.shape[1]}, depth));
    specs.push_back(spec(module + ".lora_B", {tensor.shape[0], rank_}, depth));
  }
  for (const std::string& target : plan.targets) {
    if (used.contains(target)) continue;
    throw Error::of_field("lora_targets", fmt::format("found '{}', which no matrix of the layers "
                                                      "is called",
                                                      printable(target)));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    layout.add(specs[i]);
    (i % 2 == 0 ? matrices_[i / 2].a : matrices_[i / 2].b) = layout.parameters().back().offset;
  }
}

void LowRank::begin(uint64_t seed, float* values, float* kept) const {
  for (const Matrices& m : matrices_) {
    for (const auto& [offset, size] : m.pieces) std::copy_n(values + offset, size, kept + offset);
    draw_uniform(m.module, mix(seed, 0x10BA), m.in, {values + m.a, rank_ * m.in});
    std::fill_n(values + m.b, m.out * rank_, 0.f);
  }
}

void LowRank::merge(float* values, const float* kept, Team& team) const {
  team.run([&](int part, int parts) {
    for (size_t i = static_cast<size_t>(part); i < matrices_.size();
         i += static_cast<size_t>(parts)) {
      const Matrices& m = matrices_[i];
      size_t row = 0;
      for (const auto& [offset, size] : m.pieces) {
        std::copy_n(kept + offset, size, values + offset);
        for (float* w = values + offset; w < values + offset + size; w += m.in, ++row) {
          for (size_t k = 0; k < rank_; ++k) {
            const float x = scale_ * values[m.b + row * rank_ + k];
            gradient_kernels().axpy(x, values + m.a + k * m.in, m.in, w);
          }
        }
      }
    }
  });
}

void LowRank::derive(const float* values, float* gradient, Team& team) const {
  const auto add = [&](const Matrices& m, float* w, size_t row) {
    for (size_t k = 0; k < rank_; ++k) {
      const float* a = values + m.a + k * m.in;
      float sum = 0;
      for (size_t i = 0; i < m.in; ++i) sum += w[i] * a[i];
      gradient[m.b + row * rank_ + k] += scale_ * sum;
      gradient_kernels().axpy(scale_ * values[m.b + row * rank_ + k], w, m.in,
                              gradient + m.a + k * m.in);
    }
  };
  team.run([&](int part, int parts) {
    for (size_t i = static_cast<size_t>(part); i < matrices_.size();
         i += static_cast<size_t>(parts)) {
      const Matrices& m = matrices_[i];
      size_t row = 0;
      for (const auto& [offset, size] : m.pieces) {
        float* w = gradient + offset;
        for (const float* end = w + size; w < end; w += m.in, ++row) add(m, w, row);
        std::fill_n(gradient + offset, size, 0.f);
      }
    }
  });
}

}  // namespace bert::training
