#include "directory/module_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/module_stages.h"
#include "directory/weight_files.h"
#include "model/config.h"
#include "model/config_keys.h"

namespace bert {
namespace {

size_t size_at(const Json& root, std::string_view key) {
  return config_keys::size_of(root.at(key), 1, ModuleLayer::kMostFeatures);
}

Activation activation_at(const Json& root) {
  const auto name = root.find("activation_function");
  if (!name || name->is_null()) return Activation::tanh;
  const auto known = torch_activation(name->as_string());
  if (name->as_string().empty() || known) return known.value_or(Activation::none);
  throw Error(Error::Kind::unsupported, name->where(),
              fmt::format("{} is not supported", name->describe()));
}

using Shapes = std::vector<std::pair<std::string, std::vector<size_t>>>;

/// Opens the weights, which have these tensors and no others, as the reference asks for.
void take_weights(ModuleLayer& layer, const Shapes& tensors) {
  layer.weights = std::make_shared<const Weights>(open_untied_weights(layer.directory));
  std::vector<std::string> names;
  for (const auto& [name, shape] : tensors) {
    layer.weights->require(name, shape);
    names.push_back(name);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : " and ") + name;
  if (names.size() == 1) list += " alone";
  for (const TensorView* tensor : layer.weights->tensors()) {
    if (std::find(names.begin(), names.end(), tensor->name) != names.end()) continue;
    throw Error(Error::Kind::data, layer.weights->path(),
                fmt::format("has a tensor {}, wants {}: so says {}", printable(tensor->name), list,
                            layer.directory.file(file_names::kConfig)));
  }
}

}  // namespace

Linear ModuleLayer::load() const {
  std::vector<float> offsets(out_features, 0.0f);
  if (bias) offsets = weights->floats(prefix + "bias", {out_features});
  return Linear(weights->matrix(prefix + "weight", out_features, in_features), std::move(offsets));
}

Linear ModuleLayer::load_residual() const {
  return Linear(weights->matrix(std::string(kResidual) + "weight", out_features, in_features),
                std::vector<float>(out_features, 0.0f));
}

std::vector<float> ModuleLayer::load_norm(const char* part) const {
  return weights->floats(prefix + part, {out_features});
}

ModuleLayer ModuleLayer::open_dense(const std::string& folder, const Json& root) {
  ModuleLayer layer;
  layer.directory = folder;
  layer.in_features = size_at(root, "in_features");
  layer.out_features = size_at(root, "out_features");
  layer.bias = module_flag(root, "bias", true);
  layer.activation = activation_at(root);
  layer.residual = module_flag(root, "use_residual", false);
  const std::vector<size_t> matrix = {layer.out_features, layer.in_features};
  Shapes tensors = {{"linear.weight", matrix}};
  if (layer.bias) tensors.push_back({"linear.bias", {layer.out_features}});
  if (layer.projects_residual()) {
    tensors.push_back({std::string(kResidual) + "weight", matrix});
  }
  take_weights(layer, tensors);
  return layer;
}

ModuleLayer ModuleLayer::open_norm(const std::string& folder, const Json& root) {
  ModuleLayer layer;
  layer.directory = folder;
  layer.kind = Kind::norm;
  layer.prefix = "norm.";
  layer.in_features = layer.out_features = size_at(root, "dimension");
  take_weights(layer, {{layer.prefix + "weight", {layer.out_features}},
                       {layer.prefix + "bias", {layer.out_features}}});
  return layer;
}

}  // namespace bert
