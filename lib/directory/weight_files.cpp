#include "directory/weight_files.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "directory/foreign_files.h"
#include "directory/gliner_files.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

/// The name of the file; "" if there is none.
std::string_view find_weights(const ModelDirectory& directory) {
  for (const ModelFile& file : kModelFiles) {
    if (file.role == FileRole::weights && entry_exists(directory.file(file.name))) return file.name;
  }
  return "";
}

/// GLiNER's files have the encoder as a part of a model.
void strip_names(TensorFiles& files) {
  constexpr std::string_view kPrefix = GlinerFiles::kEncoder;
  for (TensorView& tensor : files.tensors) {
    if (tensor.name.starts_with(kPrefix)) tensor.name.erase(0, kPrefix.size());
  }
}

[[noreturn]] void throw_no_weights(const std::string& directory) {
  if (const std::string other = foreign_weights(directory); !other.empty()) {
    throw Error(
        Error::Kind::no_input, directory,
        fmt::format("no model.safetensors and no pytorch_model.bin; {} cannot be read, save the "
                    "model with save_pretrained of PyTorch's transformers",
                    printable(other)));
  }
  throw Error(
      Error::Kind::no_input, directory,
      "no weights: wants model.safetensors, model.safetensors.index.json or pytorch_model.bin");
}

}  // namespace

bool weights_present(const ModelDirectory& directory) { return !find_weights(directory).empty(); }

TensorFiles open_tensor_files(const ModelDirectory& directory) {
  const std::string_view name = find_weights(directory);
  if (name.empty()) throw_no_weights(directory.path());
  TensorPlace place{directory.file(name), name.starts_with(file_names::kPickle)};
  if (name.ends_with(file_names::kIndexEnding)) place.index = directory.document(name).root();
  return open_tensor_files(place);
}

Weights open_untied_weights(const ModelDirectory& directory) {
  Config config;
  config.tie_word_embeddings = false;
  return open_weights(directory, config);
}

Weights open_weights(const ModelDirectory& directory, const Config& config) {
  config.require_sizes();
  TensorFiles files = open_tensor_files(directory);
  if (directory.gliner()) strip_names(files);
  if (directory.adapter()) directory.adapter()->merge(config, files);
  return Weights::of(std::move(files), config);
}

}  // namespace bert
