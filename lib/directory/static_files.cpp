#include "directory/static_files.h"

#include <algorithm>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/module_stages.h"
#include "directory/weight_files.h"
#include "io/json.h"
#include "model/static_config.h"

namespace bert {
namespace {

/// config.json of static vectors. One that does not open is told by those who need it.
std::optional<StaticConfig> static_config(const ModelDirectory& directory) {
  const JsonDocument* document = directory.find_sound(file_names::kConfig);
  return document ? StaticConfig::read(document->root()) : std::nullopt;
}

bool names_static_embedding(const Json& modules) {
  bool first = true, found = false;
  if (!modules.is_array()) return false;
  modules.for_each_element([&](Json module) {
    const auto type = first && module.is_object() ? module.find("type") : std::nullopt;
    found = found || (type && type->is_string() && type->as_string().ends_with(".StaticEmbedding"));
    first = false;
  });
  return found;
}

/// The folder of a StaticEmbedding, by its path; nullopt also where modules.json does not open.
std::optional<std::string> find_folder(const ModelDirectory& directory) {
  const JsonDocument* document = directory.find_sound(file_names::kModules);
  if (!document) return std::nullopt;
  std::optional<std::string> folder;
  try {
    bool first = true;
    document->root().for_each_element([&](Json module) {
      if (first && stage_of(module.at("type").as_string()) == Stage::static_embedding) {
        folder = directory.file(module_folder(module.at("path")));
      }
      first = false;
    });
  } catch (const Error&) {  // told by those who need the modules
  }
  return folder;
}

/// Whether the weights are model2vec's, for a config.json without model_type: StaticModel writes
/// none where nobody names the kind.
bool has_table(const ModelDirectory& directory) {
  try {
    if (!weights_present(directory)) return false;
    const TensorFiles files = open_tensor_files(directory);
    return std::any_of(files.tensors.begin(), files.tensors.end(),
                       [](const TensorView& tensor) { return tensor.name == kStaticVectors; });
  } catch (const Error& error) {
    if (!error.of_content()) throw;
    return false;  // told by those who need the weights
  }
}

}  // namespace

std::optional<StaticFiles> StaticFiles::find(const ModelDirectory& directory) {
  const auto folder = find_folder(directory);
  if (!folder || *folder == directory.path()) {
    const auto config = static_config(directory);
    if (config && (config->named || has_table(directory))) {
      return StaticFiles{Kind::model2vec, directory.path(), config->normalize, config->max_length};
    }
  }
  if (!folder) return std::nullopt;
  return StaticFiles{Kind::static_embedding, *folder, false, std::nullopt};
}

void refuse_static_vectors(const ModelDirectory& directory) {
  const auto config = static_config(directory);
  const JsonDocument* modules = directory.find_sound(file_names::kModules);
  if ((config && config->named) || (modules && names_static_embedding(modules->root()))) {
    throw_static_vectors(directory);
  }
}

void throw_static_vectors(const ModelDirectory& directory) {
  throw Error(
      Error::Kind::unsupported, directory.path(),
      "static vectors, a table without layers and heads; embed, tokenize and bert-info work "
      "with it");
}

}  // namespace bert
