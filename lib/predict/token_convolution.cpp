#include "predict/token_convolution.h"

#include <algorithm>
#include <utility>

#include "encoder/convolution.h"

namespace bert {

TokenConvolution::TokenConvolution(const ModuleLayer& layer) {
  for (size_t i = 0; i < layer.kernels.size(); ++i) {
    One one{layer.kernels[i], layer.load_kernel(i), {}};
    const size_t out = layer.out_features / layer.kernels.size();
    one.linear = Linear({reinterpret_cast<const std::byte*>(one.weights.data()), DType::f32, out,
                         one.kernel * layer.in_features},
                        layer.load_kernel_bias(i));
    convolutions_.push_back(std::move(one));
  }
}

void TokenConvolution::operator()(const PackedBatch& batch, ConstMatrix x, Matrix y,
                                  LinearScratch& scratch) const {
  Buffer windows;
  size_t column = 0;
  for (const One& one : convolutions_) {
    const size_t width = one.linear.out_features();
    for (size_t s = 0; s < batch.sequences(); ++s) {
      const size_t begin = batch.begin(s), n = batch.length(s);
      for (size_t first = 0; first < n; first += kWindowsAtOnce) {
        const size_t rows = std::min(kWindowsAtOnce, n - first);
        one.linear(windows_of(x.slice(begin, n), first, rows, one.kernel, windows),
                   columns(y.slice(begin + first, rows), column, width), Activation::none, scratch);
      }
    }
    column += width;
  }
}

}  // namespace bert
