#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/schema.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "ops/matrix.h"

namespace bert::training {

/// One tensor among the parameters.
struct Parameter : TensorSpec {
  size_t offset = 0;  ///< in floats from the beginning
  size_t size = 0;
  bool decays = true;    ///< has weight decay: all but biases, also by position, and norms
  float rate_scale = 1;  ///< factor of the learning rate; 0: frozen
};

/// The place of each tensor of a network in one array of floats. Values, gradients and the two
/// moments are four such arrays, so that an optimiser goes through memory once.
class Layout {
 public:
  /// The tensors in this order. Leaves out a tensor that is not required, or whose name came
  /// before. A tensor with `joins` follows the one before it without a gap.
  explicit Layout(std::vector<TensorSpec> specs);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::vector<Parameter>& parameters() { return parameters_; }
  size_t floats() const { return floats_; }
  /// nullptr if there is no such tensor.
  const Parameter* find(std::string_view name) const;

  /// The tensor of this name in an array of floats() floats: [rows, cols], or [1, n] if it has one
  /// dimension. Without data if there is no such tensor.
  Matrix matrix(std::string_view name, float* base) const;

  /// Appends a tensor, as the constructor does.
  void add(TensorSpec spec);

 private:
  std::vector<Parameter> parameters_;
  size_t floats_ = 0;
};

/// A tensor of a file: pieces of an array in a layout's order, one behind the other.
struct FileTensor {
  struct Piece {
    size_t offset, size;  ///< in floats
  };
  std::string name;
  std::vector<size_t> shape;
  std::vector<Piece> pieces;
};

/// Each parameter as a tensor of its own name, behind `prefix`.
std::vector<FileTensor> plain_tensors(const Layout& layout, const std::string& prefix = "");

/// Draws one tensor by its `initial`: from N(0, deviation), or ones, or zeros. The numbers depend
/// on `seed` and the tensor's name.
void draw_parameter(const Parameter& parameter, uint64_t seed, float deviation, float* base);
/// Draws values as torch's Linear of `in` inputs begins: from U(-1, 1) / sqrt(in). They depend on
/// `seed` and `name`.
void draw_uniform(std::string_view name, uint64_t seed, size_t in, std::span<float> values);
/// Draws all tensors.
void draw_parameters(const Layout& layout, uint64_t seed, float deviation, float* base);

}  // namespace bert::training
