#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "directory/model_directory.h"
#include "io/json.h"
#include "ops/linear.h"

namespace bert {

/// A layer over vectors, of texts or of tokens: a module of sentence-transformers.
struct BERT_API ModuleLayer {
  enum class Kind : uint8_t {
    dense,        ///< a linear layer and its activation
    norm,         ///< a layer norm
    convolution,  ///< some of them side by side, over the vectors of tokens (CNN)
  };
  ModelDirectory directory;  ///< holds config.json and weights (linear.weight, linear.bias)
  size_t in_features = 0;
  size_t out_features = 0;
  bool bias = true;
  Activation activation = Activation::tanh;

  std::shared_ptr<const Weights> weights;  ///< Linears of load() borrow from it
  std::string prefix = "linear.";          ///< before the names of its tensors
  static constexpr const char* kResidual = "residual.";
  Kind kind = Kind::dense;
  std::vector<size_t> kernels = {};  ///< widths of the convolutions, in tokens
  bool residual = false;  ///< what it reads is added; of another width through residual.weight

  /// The layer. Throw Error naming file and tensor.
  Linear load() const;
  Linear load_residual() const;
  std::vector<float> load_norm(const char* part) const;
  /// Of convolution i: [out, K * in], the first token's columns first; and its bias [out].
  std::vector<float> load_kernel(size_t i) const;
  std::vector<float> load_kernel_bias(size_t i) const;

  /// The file that describes it, and the key there of in_features.
  std::string config_file() const;
  std::string_view width_key() const;

  static constexpr size_t kMostFeatures = 1 << 20;  ///< that are believed
  bool projects_residual() const { return residual && in_features != out_features; }
  /// A layer norm's epsilon, torch's default.
  static constexpr float kEpsilon = 1e-5f;

  /// A Dense, LayerNorm or CNN in `folder`, whose config has this root. Throws Error naming file
  /// and value: data for tensors that the config does not describe, unsupported for a value.
  static ModuleLayer open_dense(const std::string& folder, const Json& root);
  static ModuleLayer open_norm(const std::string& folder, const Json& root);
  static ModuleLayer open_convolution(const std::string& folder, const Json& root);
};

}  // namespace bert
