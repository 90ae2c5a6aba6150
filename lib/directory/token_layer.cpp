#include "directory/token_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "checkpoint/tensor_files.h"
#include "directory/file_names.h"

namespace bert {
namespace {

/// A model that has one of these layers has all: FlagEmbedding saves them together, and reads none
/// without the others.
void refuse_missing_layer(const ModelDirectory& directory, std::string_view file) {
  for (const ModelFile& other : kModelFiles) {
    if (other.role != FileRole::layers || !directory.has(other.name)) continue;
    throw Error(Error::Kind::no_input, directory.file(file),
                fmt::format("is missing beside {}: the model (BGE-M3) has both, and bert-pull "
                            "downloads both",
                            other.name));
  }
}

}  // namespace

bool has_token_layers(const ModelDirectory& directory) {
  return std::any_of(std::begin(kModelFiles), std::end(kModelFiles), [&](const ModelFile& file) {
    return file.role == FileRole::layers && directory.has(file.name);
  });
}

std::optional<SentenceModules::Dense> find_token_layer(const ModelDirectory& directory,
                                                       std::string_view file, size_t hidden_size) {
  if (!directory.has(file)) {
    refuse_missing_layer(directory, file);
    return std::nullopt;
  }
  Config config;
  config.tie_word_embeddings = false;
  const std::string path = directory.file(file);
  auto weights =
      std::make_shared<const Weights>(Weights::of(open_tensor_files({path, true}), config));
  const TensorView* matrix = weights->find("weight");
  if (!matrix || matrix->shape.size() != 2 || matrix->shape[1] != hidden_size) {
    throw Error(
        Error::Kind::data, path,
        fmt::format("wants a tensor weight [D, {}], as the hidden states are", hidden_size));
  }
  SentenceModules::Dense layer{
      directory.path(),   hidden_size, matrix->shape[0], true, Activation::none,
      std::move(weights), ""};
  layer.weights->require("bias", {layer.out_features});
  return layer;
}

}  // namespace bert
