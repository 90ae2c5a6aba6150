#include "checkpoint/stored_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace bert {

namespace {

bool may_have_turns(const Config& config) {
  return config.rotary.theta > 0 && !config.family->turns_tensor.empty();
}

}  // namespace

bool is_turn_tensor(const Config& config, std::string_view name) {
  return may_have_turns(config) && name.ends_with(config.family->turns_tensor);
}

void take_stored_turns(Config& config, const Weights& weights) {
  if (!may_have_turns(config)) return;
  const size_t size = config.head_size();
  std::vector<size_t> shape = {size / 2};
  if (config.rotary.neighbours) shape = {config.max_position_embeddings, size};
  StoredTurns turns;
  for (const TensorView* tensor : weights.tensors()) {
    const std::string name = weights.canonical(*tensor);
    if (!is_turn_tensor(config, name)) continue;
    std::vector<float> values = weights.require(name, shape).floats();
    if (turns.values.empty()) {
      turns = {std::string(config.family->turns_tensor), shape, std::move(values)};
    } else if (values != turns.values) {
      throw Error(Error::Kind::data, weights.path(),
                  fmt::format("tensor {}: other angles than in the layers before it",
                              printable(tensor->name)));
    }
  }
  if (turns.values.empty()) return;
  config.rotary.stored = std::make_shared<const StoredTurns>(std::move(turns));
}

}  // namespace bert
