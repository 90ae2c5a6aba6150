#include "directory/hashes.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "directory/sentence_modules.h"
#include "directory/weight_files.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

/// The sentence modules. A tool that reads them has refused those that do not open; for the others
/// the files beside config.json are enough.
SentenceModules modules_that_open(const ModelDirectory& directory) {
  try {
    return SentenceModules::open(directory);
  } catch (const Error& error) {
    if (!error.of_content()) throw;
    SentenceModules none;
    for (const std::string_view name : {file_names::kModules, file_names::kSentenceTransformers}) {
      if (directory.has(name)) none.files.push_back(directory.file(name));
    }
    return none;
  }
}

/// The name of a file of the model or of its adapter, relative to its folder.
std::string name_in(const ModelDirectory& directory, const std::string& path) {
  const Adapter* adapter = directory.adapter();
  std::string folder = directory.path();
  if (directory.router()) {
    const std::string modules = directory.file(file_names::kModules);
    folder = modules.substr(0, modules.rfind('/'));  // of all routes
  } else if (adapter && path.starts_with(adapter->folder() + "/") &&
             (adapter->folder().size() > folder.size() || !path.starts_with(folder + "/"))) {
    folder = adapter->folder();
  }
  return path.substr(folder.size() + 1);
}

}  // namespace

FileHash hash_file(const std::string& path) {
  return {path.substr(path.rfind('/') + 1), xxh64(MappedFile::open(path).text())};
}

std::vector<FileHash> hash_model(const ModelDirectory& directory) {
  std::vector<FileHash> hashes;
  const auto add = [&](const MappedFile& file) {
    const std::string name = name_in(directory, file.path());
    const auto same = [&](const FileHash& hash) { return hash.name == name; };
    if (std::any_of(hashes.begin(), hashes.end(), same)) return;  // of several lists
    hashes.push_back({name, xxh64(file.text())});
  };
  const auto add_weights = [&](const ModelDirectory& folder) {
    for (const MappedFile& file : open_tensor_files(folder).files) add(file);
  };
  for (const ModelFile& file : kModelFiles) {
    if (!use_of(file.role).hashed || !directory.has(file.name)) continue;
    add(MappedFile::open(directory.file(file.name)));
  }
  const SentenceModules modules = modules_that_open(directory);
  for (const std::string& path : modules.files) add(MappedFile::open(path));
  for (const auto* layers : {&modules.token_layers, &modules.dense}) {
    for (const SentenceModules::Dense& layer : *layers) {
      if (layer.directory.path() != directory.path()) add_weights(layer.directory);
    }
  }
  if (weights_present(directory)) add_weights(directory);
  if (modules.static_folder && *modules.static_folder != directory.path()) {
    const ModelDirectory folder(*modules.static_folder);
    if (folder.has(file_names::kTokenizer)) {
      add(MappedFile::open(folder.file(file_names::kTokenizer)));
    }
    add_weights(folder);
  }
  return hashes;
}

}  // namespace bert
