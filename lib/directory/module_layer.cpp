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
                            layer.config_file()));
  }
}

}  // namespace

std::string ModuleLayer::config_file() const {
  return directory.file(kind == Kind::convolution ? file_names::kCnn : file_names::kConfig);
}

std::string_view ModuleLayer::width_key() const {
  return kind == Kind::norm          ? "dimension"
         : kind == Kind::convolution ? "in_embedding_dimension"
                                     : "in_features";
}

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

/// Tensor `part` of convolution i.
static std::string kernel_name(size_t i, const char* part) {
  return fmt::format("convs.{}.{}", i, part);
}

std::vector<float> ModuleLayer::load_kernel(size_t i) const {
  const size_t out = out_features / kernels.size(), k = kernels[i];
  const auto file = weights->floats(kernel_name(i, "weight"), {out, in_features, k});
  std::vector<float> matrix(file.size());
  for (size_t o = 0; o < out; ++o) {
    for (size_t in = 0; in < in_features; ++in) {
      for (size_t t = 0; t < k; ++t) {
        matrix[(o * k + t) * in_features + in] = file[(o * in_features + in) * k + t];
      }
    }
  }
  return matrix;
}

std::vector<float> ModuleLayer::load_kernel_bias(size_t i) const {
  return weights->floats(kernel_name(i, "bias"), {out_features / kernels.size()});
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

ModuleLayer ModuleLayer::open_convolution(const std::string& folder, const Json& root) {
  ModuleLayer layer;
  layer.directory = folder;
  layer.kind = Kind::convolution;
  const auto width = root.find("in_embedding_dimension");
  layer.in_features =
      size_at(root, width ? "in_embedding_dimension" : "in_word_embedding_dimension");
  const size_t channels = size_at(root, "out_channels");
  const Json sizes = root.at("kernel_sizes");
  sizes.for_each_element([&](Json size) {
    layer.kernels.push_back(config_keys::size_of(size, 1, 1023));
    if (layer.kernels.back() % 2 == 0) config_keys::refuse(size, "an odd number of tokens");
  });
  if (layer.kernels.empty() || layer.kernels.size() > 16) {
    config_keys::refuse(sizes, "from 1 to 16 sizes");
  }
  if (const auto strides = root.find("stride_sizes"); strides && !strides->is_null()) {
    strides->for_each_element([&](Json stride) {
      if (config_keys::size_of(stride, 1, 1023) != 1) config_keys::refuse(stride, "1");
    });
  }
  layer.out_features = channels * layer.kernels.size();
  Shapes tensors;
  for (size_t i = 0; i < layer.kernels.size(); ++i) {
    tensors.push_back({kernel_name(i, "weight"), {channels, layer.in_features, layer.kernels[i]}});
    tensors.push_back({kernel_name(i, "bias"), {channels}});
  }
  take_weights(layer, tensors);
  return layer;
}

}  // namespace bert
