#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "directory/module_layer.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "training/layout.h"

namespace bert::training {

/// A layer over vectors, a module of sentence-transformers in a folder of its own, that learns.
struct ModulePlan {
  std::string folder;  ///< in the model's directory
  ModuleLayer layer;   ///< without weights: it is new
};

/// The name of a tensor of the module, without "weight" or "bias", among the parameters.
std::string module_tensor(const ModulePlan& plan, std::string_view prefix);

bool is_module_tensor(std::string_view name);

/// The tensors of modules, at this depth.
std::vector<TensorSpec> module_tensors(std::span<const ModulePlan> plans, int32_t depth);
/// The tensors of a module's file.
std::vector<FileTensor> module_file_tensors(const ModulePlan& plan, const Layout& layout);
/// Copies the weights of a module, or draws those of a new one as torch's Linear begins: from
/// U(-1, 1) / sqrt(in).
void load_module(const ModulePlan& plan, const Layout& layout, uint64_t seed, float* values);

/// Modules one behind the other, forward and backward.
///
/// Thread rule: one per thread.
class ModuleStack {
 public:
  /// `values` and `gradient` are arrays in the layout's order.
  ModuleStack(std::span<const ModulePlan> plans, const Layout& layout, float* values,
              float* gradient);

  bool empty() const { return layers_.empty(); }
  /// x [T, in] -> [T, out], valid until the next call; x must live until backward().
  ConstMatrix forward(ConstMatrix x);
  /// From d [T, out], which it may overwrite, to the gradient of x [T, in], valid until the next
  /// call.
  Matrix backward(Matrix d);

 private:
  struct Layer {
    const ModuleLayer* plan = nullptr;
    nn::LinearWeights linear, d_linear, residual, d_residual;
    nn::NormWeights norm, d_norm;
    ConstMatrix input;
    Buffer product, output, statistics, projected, d_product, d_input;
  };
  static ConstMatrix forward(Layer& layer, ConstMatrix x);
  static Matrix backward(Layer& layer, Matrix d);

  std::deque<Layer> layers_;
};

}  // namespace bert::training
