#include "training/convolution_gradient.h"

#include <algorithm>

#include "nn/activation_gradient.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::training {

template <typename Use>
void ConvolutionSublayer::for_each_place(const PackedBatch& batch, Use use) const {
  const size_t kernel = config_.conv_kernel_size, reach = kernel / 2;
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), n = batch.length(s);
    for (size_t t = 0; t < n; ++t) {
      for (size_t k = 0; k < kernel; ++k) {
        const size_t token = t + k;  // `reach` too many
        if (token >= reach && token - reach < n) use(begin + t, k, begin + token - reach);
      }
    }
  }
}

template <typename Use>
void ConvolutionSublayer::for_each_weight(Use use) const {
  const size_t width = config_.hidden_size, kernel = config_.conv_kernel_size;
  const size_t in = width / config_.conv_groups;
  for (size_t out = 0; out < width; ++out) {
    const size_t first = out / in * in;  // of its group
    for (size_t i = 0; i < in; ++i) {
      for (size_t k = 0; k < kernel; ++k) {
        use((out * in + i) * kernel + k, (out * kernel + k) * width + first + i);
      }
    }
  }
}

Matrix ConvolutionSublayer::forward(const ModelWeights& weights, const nn::Dropout& drop,
                                    const PackedBatch& batch, ConstMatrix input,
                                    ConstMatrix hidden) {
  const size_t width = input.cols;
  const Matrix spread = spread_.zeros(width, wide());
  for_each_weight(
      [&](size_t from, size_t to) { spread.data[to] = weights.convolution.weight.data[from]; });
  const Matrix windows = windows_.zeros(input.rows, wide());
  for_each_place(batch, [&](size_t row, size_t k, size_t token) {
    std::copy_n(input.row(token), width, windows.row(row) + k * width);
  });
  const Matrix dense = dense_.matrix(input.rows, width);
  nn::linear_forward({spread, weights.convolution.bias}, windows, dense);
  dropout(drop, dense);
  const Matrix sum = sum_.matrix(input.rows, width);
  nn::activation_forward(config_.conv_act, dense, sum);
  add(hidden, sum);
  const Matrix output = output_.matrix(input.rows, width);
  nn::norm_forward(weights.convolution_norm, norm_plan(config_), sum, output,
                   statistics_.matrix(input.rows, 2));
  return output;
}

Matrix ConvolutionSublayer::backward(const ModelWeights& weights, const nn::Dropout& drop,
                                     const PackedBatch& batch, Matrix d,
                                     const ModelWeights& gradient) {
  const size_t width = d.cols, tokens = d.rows;
  nn::norm_backward(weights.convolution_norm, norm_plan(config_), sum_.matrix(tokens, width),
                    statistics_.matrix(tokens, 2), d, gradient.convolution_norm, d);
  const Matrix d_dense = d_dense_.matrix(tokens, width);
  copy(d, d_dense);
  nn::activation_backward(config_.conv_act, dense_.matrix(tokens, width), d_dense);
  dropout(drop, d_dense);
  const Matrix d_windows = d_windows_.matrix(tokens, wide());
  const Matrix d_spread = d_spread_.zeros(width, wide());
  nn::linear_backward({spread_.matrix(width, wide()), nullptr}, windows_.matrix(tokens, wide()),
                      d_dense, {d_spread, gradient.convolution.bias}, d_windows);
  for_each_weight(
      [&](size_t to, size_t from) { gradient.convolution.weight.data[to] += d_spread.data[from]; });
  const Matrix d_input = d_input_.zeros(tokens, width);
  for_each_place(batch, [&](size_t row, size_t k, size_t token) {
    gradient_kernels().axpy(1.f, d_windows.row(row) + k * width, width, d_input.row(token));
  });
  return d_input;
}

}  // namespace bert::training
