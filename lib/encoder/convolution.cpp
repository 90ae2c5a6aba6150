#include "encoder/convolution.h"

#include <algorithm>

namespace bert {
namespace {

constexpr size_t kRowsAtOnce = 128;  // bounds the windows, [B, K * H]

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
  const size_t width = input.cols, reach = kernel_ / 2;
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), n = batch.length(s);
    for (size_t first = 0; first < n; first += kRowsAtOnce) {
      const size_t rows = std::min(kRowsAtOnce, n - first);
      const Matrix x = windows.matrix(rows, kernel_ * width);  // [B, K * H]
      for (size_t r = 0; r < rows; ++r) {
        for (size_t k = 0; k < kernel_; ++k) {
          const size_t token = first + r + k;  // `reach` too many
          float* to = x.row(r) + k * width;
          if (token < reach || token - reach >= n) {
            std::fill_n(to, width, 0.0f);
          } else {
            std::copy_n(input.row(begin + token - reach), width, to);
          }
        }
      }
      const Matrix out = hidden.slice(begin + first, rows);
      dense_(x, out, act_, scratch, out);
      norm_(out, out);
    }
  }
}

}  // namespace bert
