#pragma once

#include "base/export.h"
#include "checkpoint/tensor_files.h"
#include "checkpoint/weights.h"
#include "directory/model_directory.h"
#include "model/config.h"

namespace bert {

/// Whether `directory` holds weights in a form that the tools read, sound or not.
BERT_API bool weights_present(const ModelDirectory& directory);

/// The weights of a directory: model.safetensors, else its index, else pytorch_model.bin, else that
/// one's index. A broken safetensors file never falls back to a pickle. Throws Error (no_input, ..)
/// as open_tensor_files of checkpoint/tensor_files.h does.
BERT_API TensorFiles open_tensor_files(const ModelDirectory& directory);
/// The same for a model of this config, with its adapter in it. Throws Error(data) for sizes that
/// the config lacks.
BERT_API Weights open_weights(const ModelDirectory& directory, const Config& config);
/// The same of tensors that are no model's: none stands for another.
BERT_API Weights open_untied_weights(const ModelDirectory& directory);

}  // namespace bert
