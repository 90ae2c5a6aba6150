#pragma once

#include <cstdint>
#include <memory>
#include <string>
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
    dense,  ///< a linear layer and its activation
    norm,   ///< a layer norm
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
  bool residual = false;  ///< what it reads is added; of another width through residual.weight

  /// The layer. Throw Error naming file and tensor.
  Linear load() const;
  Linear load_residual() const;
  std::vector<float> load_norm(const char* part) const;

  static constexpr size_t kMostFeatures = 1 << 20;  ///< that are believed
  bool projects_residual() const { return residual && in_features != out_features; }
  /// A layer norm's epsilon, torch's default.
  static constexpr float kEpsilon = 1e-5f;

  /// A Dense or LayerNorm in `folder`, whose config.json has this root. Throws Error naming file
  /// and value: data for tensors that the config does not describe, unsupported for a value.
  static ModuleLayer open_dense(const std::string& folder, const Json& root);
  static ModuleLayer open_norm(const std::string& folder, const Json& root);
};

}  // namespace bert
