#include "nn/embedding_gradient.h"

#include "ops/gradient_kernels.h"

namespace bert::nn {

void embedding_forward(ConstMatrix table, std::span<const int32_t> ids, Matrix output) {
  for (size_t t = 0; t < ids.size(); ++t) {
    gradient_kernels().axpy(1.f, table.row(static_cast<size_t>(ids[t])), table.cols, output.row(t));
  }
}

void embedding_backward(std::span<const int32_t> ids, ConstMatrix d_output, Matrix d_table,
                        int32_t padding_id) {
  for (size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] == padding_id) continue;
    gradient_kernels().axpy(1.f, d_output.row(t), d_output.cols,
                            d_table.row(static_cast<size_t>(ids[t])));
  }
}

}  // namespace bert::nn
