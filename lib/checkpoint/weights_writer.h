#pragma once

#include <list>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "io/safetensors_writer.h"

namespace bert {

/// Tensors on their way to a model.safetensors. What is added must live until write().
class BERT_API WeightsWriter {
 public:
  void add(std::string name, std::vector<size_t> shape, std::span<const float> values);
  /// As the tensor's file holds it.
  void add(const TensorView& tensor, std::string name);
  /// The file stands at `path`, whole or not at all.
  void write(const std::string& path) const;

 private:
  std::vector<SafetensorsTensor> tensors_;
};

}  // namespace bert
