#include "training/module_layers.h"

#include <algorithm>

#include "nn/activation_gradient.h"
#include "ops/kernels.h"

namespace bert::training {
namespace {

constexpr std::string_view kPrefix = "modules.";
constexpr const char* kWeight = "weight";
constexpr const char* kBias = "bias";

/// A tensor of a module as its file has it.
struct ModuleTensor {
  std::string name;
  std::vector<size_t> shape;
  Part part = Part::weight;
  Initial initial = Initial::drawn;
};

std::vector<ModuleTensor> tensors_of(const ModuleLayer& layer) {
  const std::vector<size_t> matrix{layer.out_features, layer.in_features};
  const std::vector<size_t> vector{layer.out_features};
  if (layer.kind == ModuleLayer::Kind::norm) {
    return {{layer.prefix + kWeight, vector, Part::weight, Initial::ones},
            {layer.prefix + kBias, vector, Part::bias, Initial::zeros}};
  }
  std::vector<ModuleTensor> tensors{{layer.prefix + kWeight, matrix}};
  if (layer.bias) tensors.push_back({layer.prefix + kBias, vector, Part::bias, Initial::zeros});
  if (layer.projects_residual()) {
    tensors.push_back({std::string(ModuleLayer::kResidual) + kWeight, matrix});
  }
  return tensors;
}

}  // namespace

std::string module_tensor(const ModulePlan& plan, std::string_view prefix) {
  return std::string(kPrefix) + plan.folder + "." + std::string(prefix);
}

bool is_module_tensor(std::string_view name) { return name.starts_with(kPrefix); }

std::vector<TensorSpec> module_tensors(std::span<const ModulePlan> plans, int32_t depth) {
  std::vector<TensorSpec> specs;
  for (const ModulePlan& plan : plans) {
    for (ModuleTensor& tensor : tensors_of(plan.layer)) {
      TensorSpec& spec = specs.emplace_back();
      spec.name = module_tensor(plan, tensor.name);
      spec.shape = std::move(tensor.shape);
      spec.role = Role::classifier;
      spec.part = tensor.part;
      spec.initial = tensor.initial;
      spec.depth = depth;
    }
  }
  return specs;
}

std::vector<FileTensor> module_file_tensors(const ModulePlan& plan, const Layout& layout) {
  std::vector<FileTensor> tensors;
  for (const ModuleTensor& tensor : tensors_of(plan.layer)) {
    const Parameter& p = *layout.find(module_tensor(plan, tensor.name));
    tensors.push_back({tensor.name, p.shape, {{p.offset, p.size}}});
  }
  return tensors;
}

void load_module(const ModulePlan& plan, const Layout& layout, uint64_t seed, float* values) {
  for (const ModuleTensor& tensor : tensors_of(plan.layer)) {
    const Parameter& p = *layout.find(module_tensor(plan, tensor.name));
    if (plan.layer.weights) {
      const std::vector<float> own = plan.layer.weights->require(tensor.name, p.shape).floats();
      std::copy(own.begin(), own.end(), values + p.offset);
      continue;
    }
    if (plan.layer.kind == ModuleLayer::Kind::norm) continue;
    draw_uniform(p.name, seed, plan.layer.in_features, {values + p.offset, p.size});
  }
}

ModuleStack::ModuleStack(std::span<const ModulePlan> plans, const Layout& layout, float* values,
                         float* gradient) {
  for (const ModulePlan& plan : plans) {
    Layer& layer = layers_.emplace_back();
    layer.plan = &plan.layer;
    const auto matrix = [&](std::string_view prefix, const char* part, float* base) {
      return layout.matrix(module_tensor(plan, prefix) + part, base);
    };
    const std::string& own = plan.layer.prefix;
    layer.linear.weight = matrix(own, kWeight, values);
    layer.linear.bias = matrix(own, kBias, values).data;
    layer.d_linear.weight = matrix(own, kWeight, gradient);
    layer.d_linear.bias = matrix(own, kBias, gradient).data;
    layer.residual.weight = matrix(ModuleLayer::kResidual, kWeight, values);
    layer.d_residual.weight = matrix(ModuleLayer::kResidual, kWeight, gradient);
    layer.norm = {layer.linear.weight.data, layer.linear.bias};
    layer.d_norm = {layer.d_linear.weight.data, layer.d_linear.bias};
  }
}

ConstMatrix ModuleStack::forward(Layer& layer, ConstMatrix x) {
  const ModuleLayer& plan = *layer.plan;
  layer.input = x;
  const Matrix y = layer.output.matrix(x.rows, plan.out_features);
  if (plan.kind == ModuleLayer::Kind::norm) {
    nn::norm_forward(layer.norm, {ModuleLayer::kEpsilon}, x, y, layer.statistics.matrix(x.rows, 2));
    return y;
  }
  const Matrix product = layer.product.matrix(x.rows, plan.out_features);
  nn::linear_forward(layer.linear, x, product);
  nn::activation_forward(plan.activation, product, y);
  if (plan.projects_residual()) {
    const Matrix projected = layer.projected.matrix(x.rows, plan.out_features);
    nn::linear_forward(layer.residual, x, projected);
    add(projected, y);
  } else if (plan.residual) {
    add(x, y);
  }
  return y;
}

Matrix ModuleStack::backward(Layer& layer, Matrix d) {
  const ModuleLayer& plan = *layer.plan;
  const Matrix dx = layer.d_input.matrix(d.rows, plan.in_features);
  if (plan.kind == ModuleLayer::Kind::norm) {
    nn::norm_backward(layer.norm, {ModuleLayer::kEpsilon}, layer.input,
                      layer.statistics.matrix(d.rows, 2), d, layer.d_norm, dx);
    return dx;
  }
  const Matrix d_product = layer.d_product.matrix(d.rows, d.cols);
  copy(d, d_product);
  nn::activation_backward(plan.activation, layer.product.matrix(d.rows, d.cols), d_product);
  nn::linear_backward(layer.linear, layer.input, d_product, layer.d_linear, dx);
  if (plan.projects_residual()) {
    nn::linear_backward(layer.residual, layer.input, d, layer.d_residual, dx, true);
  } else if (plan.residual) {
    add(d, dx);
  }
  return dx;
}

ConstMatrix ModuleStack::forward(ConstMatrix x) {
  for (Layer& layer : layers_) x = forward(layer, x);
  return x;
}

Matrix ModuleStack::backward(Matrix d) {
  for (size_t i = layers_.size(); i-- > 0;) d = backward(layers_[i], d);
  return d;
}

}  // namespace bert::training
