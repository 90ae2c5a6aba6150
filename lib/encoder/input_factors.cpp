#include "encoder/input_factors.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "encoder/model.h"

namespace bert {
namespace {

constexpr size_t kTokens = 32;
/// Of the largest channel: smaller ones, which may never have met a token that uses them, are taken
/// for so large.
constexpr float kLeast = 1e-3f;

/// max(largest [K], |x|) over the rows of x [T, K].
void note_largest(ConstMatrix x, std::vector<float>& largest) {
  for (size_t t = 0; t < x.rows; ++t) {
    const float* row = x.row(t);
    for (size_t k = 0; k < x.cols; ++k) largest[k] = std::max(largest[k], std::fabs(row[k]));
  }
}

void to_factors(std::vector<float>& largest) {
  const float top = *std::max_element(largest.begin(), largest.end());
  const bool usable = top > 0 && std::isfinite(top);
  for (float& x : largest) x = usable ? 1 / std::sqrt(std::max(x, top * kLeast)) : 1;
}

PackedBatch spread_tokens(const Config& config) {
  const size_t count = std::min(kTokens, config.max_tokens());
  std::vector<int32_t> ids(count), types(count, 0);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = static_cast<int32_t>((2 * i + 1) * config.vocab_size / (2 * count));
  }
  PackedBatch batch;
  batch.append(ids, types);
  return batch;
}

Model open_floats(const ModelDirectory& directory, const std::string& head) {
  try {
    return Model::open(directory, Precision::f32);
  } catch (const Error& error) {
    if (head.empty() || error.kind() != Error::Kind::data) throw;
    return Model::open(directory, Precision::f32, {head, {}});
  }
}

}  // namespace

InputFactors input_factors(const ModelDirectory& directory, const std::string& head) {
  const Model model = open_floats(directory, head);
  const Config& config = model.config();
  InputFactors factors;
  // Layer n of a trace is layer n - 1 of a pass. Layers that share weights share the factors.
  const auto note = [&](size_t layer, Role matrix, ConstMatrix x) {
    const size_t stored = config.stored_layer(layer - 1);
    std::vector<float>& largest = factors[tensor_name(matrix, Part::weight, stored)];
    largest.resize(x.cols);
    note_largest(x, largest);
  };
  ForwardOptions options;
  options.trace.request = Traced::attention_input | Traced::feed_forward_input;
  options.trace.show = [&](const TraceView& view) {
    const bool attention = view.what == Traced::attention_input;
    note(view.layer, attention ? Role::query : Role::intermediate, view.values);
  };
  Workspace workspace;
  model.forward(spread_tokens(config), workspace, options);
  for (auto& [name, largest] : factors) to_factors(largest);
  return factors;
}

}  // namespace bert
