#include "encoder/convolution.h"

#include <algorithm>

namespace bert {
namespace {

/// The weights [H, H / groups, K] as a matrix [H, K * H]; a group sees its own channels only.
std::vector<float> spread(const std::vector<float>& weights, size_t width, size_t groups,
                          size_t kernel) {
  std::vector<float> all(width * kernel * width);
  const size_t in = width / groups;
  for (size_t out = 0; out < width; ++out) {
    const size_t first = out / in * in;  // of its group
    for (size_t i = 0; i < in; ++i) {
      for (size_t k = 0; k < kernel; ++k) {
        all[(out * kernel + k) * width + first + i] = weights[(out * in + i) * kernel + k];
      }
    }
  }
  return all;
}

}  // namespace

Matrix windows_of(ConstMatrix tokens, size_t first, size_t rows, size_t kernel, Buffer& windows) {
  const size_t width = tokens.cols, reach = kernel / 2;
  const Matrix x = windows.matrix(rows, kernel * width);  // [B, K * H]
  for (size_t r = 0; r < rows; ++r) {
    for (size_t k = 0; k < kernel; ++k) {
      const size_t token = first + r + k;  // `reach` too many
      float* to = x.row(r) + k * width;
      if (token < reach || token - reach >= tokens.rows) {
        std::fill_n(to, width, 0.0f);
      } else {
        std::copy_n(tokens.row(token - reach), width, to);
      }
    }
  }
  return x;
}

Convolution Convolution::load(const Config& config, const Weights& weights) {
  Convolution c;
  const size_t width = config.hidden_size;
  c.kernel_ = config.conv_kernel_size;
  c.weights_ = spread(weights.floats(tensor_spec(config, Role::convolution)), width,
                      config.conv_groups, c.kernel_);
  const WeightRef matrix{reinterpret_cast<const std::byte*>(c.weights_.data()), DType::f32, width,
                         c.kernel_ * width};
  c.dense_ = Linear(matrix, weights.floats(tensor_spec(config, Role::convolution, Part::bias)),
                    Precision::split);
  c.act_ = config.conv_act;
  c.norm_ = Norm::load(config, weights, Role::convolution_norm);
  return c;
}

void Convolution::operator()(const PackedBatch& batch, ConstMatrix input, Matrix hidden,
                             Buffer& windows, LinearScratch& scratch) const {
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), n = batch.length(s);
    for (size_t first = 0; first < n; first += kWindowsAtOnce) {
      const size_t rows = std::min(kWindowsAtOnce, n - first);
      const Matrix x = windows_of(input.slice(begin, n), first, rows, kernel_, windows);
      const Matrix out = hidden.slice(begin + first, rows);
      dense_(x, out, act_, scratch, out);
      norm_(out, out);
    }
  }
}

}  // namespace bert
