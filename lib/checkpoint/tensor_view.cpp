#include "checkpoint/tensor_view.h"

#include "io/safetensors.h"

namespace bert {

size_t TensorView::elements() const {
  uint64_t count = 0;
  checked_elements(shape, count);
  return count;
}

std::span<const std::byte> TensorView::bytes() const {
  const size_t size = blocked ? blocked_bytes(*blocked, all_rows, shape[1], factors)
                              : elements() * dtype_size(dtype);
  return {data, size};
}

void TensorView::row(size_t index, std::span<float> out) const {
  if (blocked) return unblock_row(blocked_ref(), first_row + index, out);
  to_float(dtype, data + index * shape[1] * dtype_size(dtype), out);
}

std::vector<float> TensorView::floats() const {
  std::vector<float> values(elements());
  if (blocked) {
    const size_t in = shape[1];
    for (size_t i = 0; i < shape[0]; ++i) row(i, std::span(values).subspan(i * in, in));
  } else {
    to_float(dtype, data, values);
  }
  return values;
}

}  // namespace bert
