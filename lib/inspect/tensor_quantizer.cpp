#include "inspect/tensor_quantizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "checkpoint/stored_turns.h"
#include "model/names.h"
#include "model/schema.h"

namespace bert {
namespace {

/// Matrices of fewer elements that are not in kernel order stay F32.
constexpr size_t kSmall = 16384;

/// Whether models compute with it in their precision: all else stays as exact as it was.
bool is_quantized(const Config& config, std::string_view name) {
  const std::optional<Role> role = role_of(without_head(name));
  return role && tensor_spec(config, *role).quantized;
}

}  // namespace

std::vector<std::string> TensorQuantizer::names() const {
  std::vector<std::string> all;
  std::set<std::string> seen;
  const auto want = [&](const std::string& name) {
    const TensorView* tensor = weights_.find(name);
    if (tensor && tensor->is_weight() && seen.insert(name).second) all.push_back(name);
  };
  for (const TensorView* tensor : weights_.tensors()) {
    const std::string name = weights_.canonical(*tensor);
    const std::vector<std::string> parts = joined_parts(name);
    if (parts.empty()) want(name);
    for (const std::string& part : parts) want(part);
  }
  return all;
}

void TensorQuantizer::add(const std::string& name, const std::string& file_name) {
  const std::string whole = joined_whole(name, config_);
  if (name.ends_with(".weight") && !whole.empty()) {
    if (joined_.insert(whole).second) add_joined(whole);
    return;
  }
  const TensorView& tensor = *weights_.find(name);
  if (is_quantized(config_, name) && tensor.shape.size() == 2) {
    return add_blocked(name, {name}, file_name);
  }
  floats_.push_back(tensor.floats());
  if (is_half(tensor) && !is_turn_tensor(config_, name)) {
    writer_.add_f16(file_name, tensor.shape, floats_.back());
  } else {
    writer_.add(file_name, tensor.shape, floats_.back());
  }
}

/// Query, key and value as one; those that are not the head's own are the trunk's.
void TensorQuantizer::add_joined(const std::string& whole) {
  std::vector<std::string> parts = joined_parts(whole);
  for (std::string& name : parts) {
    if (!weights_.find(name)) name = without_head(name);
  }
  add_blocked(whole, parts, prefix_ + whole);
}

void TensorQuantizer::add_blocked(const std::string& name, const std::vector<std::string>& parts,
                                  const std::string& file_name) {
  const TensorView* whole = weights_.find(name);
  const bool as_is = whole && whole->blocked == precision_ &&
                     std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
                       const TensorView* tensor = weights_.find(part);
                       return tensor && tensor->data == whole->data;
                     });
  if (as_is) return writer_.add(*whole, file_name);
  std::vector<WeightRef> matrices;
  for (const std::string& part : parts) {
    const TensorView* tensor = weights_.find(part);
    if (!tensor || tensor->shape.size() != 2) {
      throw Error(Error::Kind::data, weights_.path(),
                  fmt::format("tensor {} is missing or no matrix", part));
    }
    if (parts.size() > 1) {  // of a layer
      weights_.require(part, tensor_spec(config_, *role_of(without_head(part))).shape);
    }
    matrices.push_back(weights_.matrix(part, tensor->shape[0], tensor->shape[1]));
  }
  writer_.add_blocked(file_name, matrices, precision_, weights_.factors_of(without_head(parts[0])));
}

/// The larger tables among what models look up or compute with in f32: half precision is more exact
/// than int8 by far.
bool TensorQuantizer::is_half(const TensorView& tensor) const {
  const auto fits = [](float x) { return std::fabs(x) < 65504; };
  return precision_ == Precision::int8 && tensor.shape.size() == 2 && tensor.elements() >= kSmall &&
         std::all_of(floats_.back().begin(), floats_.back().end(), fits);
}

}  // namespace bert
