#pragma once

#include <list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "io/output_file.h"
#include "io/safetensors_writer.h"

namespace bert {

/// Tensors on their way to a model.safetensors. What is added must live until write().
class BERT_API WeightsWriter {
 public:
  void add(std::string name, std::vector<size_t> shape, std::span<const float> values);
  /// As the tensor's file holds it.
  void add(const TensorView& tensor, std::string name);
  /// Half precision: these values are not kept.
  void add_f16(std::string name, std::vector<size_t> shape, std::span<const float> values);
  /// Matrices side by side in kernel order (ops/linear.h), with factors [K] or none; they are not
  /// kept.
  void add_blocked(std::string name, std::span<const WeightRef> matrices, Precision precision,
                   std::span<const float> factors);
  /// The file stands at `path`, whole or not at all.
  void write(const std::string& path) const;
  /// The same to a file that is committed later.
  void write(OutputFile& file) const;

 private:
  void add_blocked(std::string name, Precision precision, size_t out, size_t in, bool factors,
                   std::span<const std::byte> bytes);

  std::vector<SafetensorsTensor> tensors_;
  std::vector<SafetensorsTensor> blocked_;  ///< first in the file, where each is aligned
  std::list<std::vector<std::byte>> made_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace bert
