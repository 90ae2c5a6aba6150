#include "directory/token_layer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/tensor_files.h"

namespace bert {

std::optional<SentenceModules::Dense> find_token_layer(const ModelDirectory& directory,
                                                       std::string_view file, size_t hidden_size) {
  if (!directory.has(file)) return std::nullopt;
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
