#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/export.h"
#include "checkpoint/tensor_files.h"
#include "model/config.h"

namespace bert {

/// The tensors of a LoRA adapter as PEFT saves them (Hu et al. 2021), by the module of the model
/// that each is of, such as bert.encoder.layer.0.attention.self.query.
struct BERT_API LoraTensors {
  /// Two matrices whose product changes a weight: of a layer B A, of a table (A^T B^T).
  struct Change {
    const TensorView* a = nullptr;     ///< [r, in], of a table [r, rows]
    const TensorView* b = nullptr;     ///< [out, r], of a table [width, r]
    const TensorView* bias = nullptr;  ///< [out] or none
    bool table = false;
  };
  TensorFiles files;
  std::map<std::string, Change> changes;
  std::map<std::string, const TensorView*> saved;  ///< whole tensors, by their names

  /// Throws Error naming file and tensor: data for a change that is not whole, unsupported for
  /// tensors of another kind of adapter.
  static LoraTensors open(const std::string& path, bool pickle);
};

/// What a change of this module is multiplied by; `rank` is its r.
using LoraScale = std::function<double(std::string_view module, size_t rank)>;

/// The error of a model in the order of the kernels; `or_else` is what else would do.
BERT_API Error no_base(std::string_view path, std::string_view or_else = {});

/// The model with the adapter in it: saved tensors stand for its own, and W becomes W + scale B A.
/// Where the masked LM's decoder is the word table, it stays as it was. `config` says how both name
/// their tensors. Throws Error: data for a change of a tensor that the model lacks or of another
/// shape, unsupported for weights in the order of the kernels.
BERT_API void merge_lora(LoraTensors adapter, const LoraScale& scale, const Config& config,
                         TensorFiles& model);

}  // namespace bert
