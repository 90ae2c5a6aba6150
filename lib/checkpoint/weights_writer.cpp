#include "checkpoint/weights_writer.h"

#include <bit>
#include <utility>

namespace bert {

void WeightsWriter::add(std::string name, std::vector<size_t> shape,
                        std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little, "safetensors is little endian");
  tensors_.push_back({std::move(name), "F32", std::move(shape), std::as_bytes(values)});
}

void WeightsWriter::add(const TensorView& tensor, std::string name) {
  tensors_.push_back({std::move(name),
                      std::string(dtype_name(tensor.dtype)),
                      tensor.shape,
                      {tensor.data, tensor.elements() * dtype_size(tensor.dtype)}});
}

void WeightsWriter::write(const std::string& path) const {
  OutputFile file(path);
  write_safetensors(file, tensors_);
  file.commit();
}

}  // namespace bert
