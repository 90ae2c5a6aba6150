#include "encoder/stored_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "encoder/rotary.h"
#include "model/turn_tensors.h"

namespace bert {

bool says_turns(const Config& config, std::string_view name) {
  return config.rotary.theta > 0 && is_turn_tensor(name);
}

namespace {

/// Whether frequencies in floats are those of the model: checkpoints of ESM-2 were rounded once.
bool is_exact(const Config& config, const TensorView& tensor) {
  if (tensor.shape.size() != 1 || !tensor.is_weight()) return true;
  const std::vector<float> stored = tensor.floats();
  const std::vector<float> own = rotary_frequencies(config.rotary, config.head_size());
  return std::equal(stored.begin(), stored.end(), own.begin(), own.end(),
                    [](float a, float b) { return std::fabs(a - b) <= 1e-6f * std::fabs(b); });
}

}  // namespace

std::string rounded_turns(const Config& config, const Weights& weights) {
  for (const TensorView* tensor : weights.tensors()) {
    if (!says_turns(config, weights.canonical(*tensor))) continue;
    const bool half = tensor->dtype == DType::bf16 || tensor->dtype == DType::f16;
    if (!half && is_exact(config, *tensor)) continue;
    return fmt::format(
        "{}: {} has rounded angles of places, which transformers takes; they are "
        "computed here, so numbers differ a little",
        weights.path(), printable(tensor->name));
  }
  return "";
}

}  // namespace bert
