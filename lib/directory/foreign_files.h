#pragma once

#include <string>
#include <vector>

namespace bert {

/// The name of a file with weights in a form that the tools cannot read, such as tf_model.h5,
/// onnx/model.onnx or one that ends in .gguf; "" if the directory has none.
std::string foreign_weights(const std::string& directory);

/// The folders of a directory that hold a model, in order: checkpoints of a run, or the snapshots
/// of a repository in the hub's cache.
std::vector<std::string> models_inside(const std::string& directory);

/// Throws Error(no_input) for a directory without config.json, modules.json and files of a
/// tokenizer, if it shows where the model is or what stands in its place.
void refuse_no_model(const std::string& directory);

}  // namespace bert
