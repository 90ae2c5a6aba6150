#pragma once

#include <list>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/weights.h"
#include "checkpoint/weights_writer.h"
#include "model/config.h"
#include "ops/linear.h"

namespace bert {

/// Writes the tensors of a model in the kernels' own order and precision, or with f32 as
/// transformers has them: a model alone, or a half of one that translates.
class TensorQuantizer {
 public:
  /// Borrows all. `prefix` stands before the name of each tensor.
  TensorQuantizer(const Config& config, const Weights& weights, Precision precision,
                  WeightsWriter& writer, std::string prefix = "")
      : config_(config),
        weights_(weights),
        precision_(precision),
        writer_(writer),
        prefix_(std::move(prefix)) {}

  /// The canonical names of the tensors that are weights, in the order of the file: of several
  /// modules' tensors each part.
  std::vector<std::string> names() const;
  /// Adds a tensor under its own name, or under another that it has in all kinds of models. Throws
  /// Error(data) naming it.
  void add(const std::string& name) { add(name, prefix_ + name); }
  void add(const std::string& name, const std::string& file_name);

 private:
  void add_joined(const std::string& whole);
  void add_blocked(const std::string& name, const std::vector<std::string>& parts,
                   const std::string& file_name);
  bool is_half(const TensorView& tensor) const;

  const Config& config_;
  const Weights& weights_;
  const Precision precision_;
  WeightsWriter& writer_;
  const std::string prefix_;
  std::list<std::vector<float>> floats_;
  std::set<std::string> joined_;  ///< that are done
};

}  // namespace bert
