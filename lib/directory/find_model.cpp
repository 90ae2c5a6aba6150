#include "directory/find_model.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/nearest.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "directory/foreign_files.h"
#include "directory/weight_files.h"
#include "io/hub_cache.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

namespace fs = std::filesystem;

/// Of many places: one that cannot be looked into is passed over.
bool is_model(const std::string& directory) {
  std::error_code ignored;
  return std::any_of(std::begin(kModelFiles), std::end(kModelFiles), [&](const ModelFile& file) {
    return marks_model(file.name) &&
           fs::exists(fmt::format("{}/{}", directory, file.name), ignored);
  });
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// The source folder of a build tree, from CMake's own note; empty if `directory` is none.
std::string source_of_build(const std::string& directory) {
  constexpr std::string_view kHome = "CMAKE_HOME_DIRECTORY:INTERNAL=";
  std::ifstream cache(directory + "/CMakeCache.txt");
  for (std::string line; std::getline(cache, line);) {
    if (line.starts_with(kHome)) return line.substr(kHome.size());
  }
  return "";
}

/// Where the models lie that come with this library: share/bert/models under its prefix, or models/
/// of the source it was built from.
std::vector<std::string> own_model_folders() {
  std::vector<std::string> folders;
  Dl_info info;
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&own_model_folders), &info) == 0) return folders;
  fs::path path = fs::canonical(info.dli_fname, error);
  for (int level = 0; level < 4 && path.has_relative_path(); ++level) {
    path = path.parent_path();
    folders.push_back(path / "share/bert/models");
    if (const std::string source = source_of_build(path); !source.empty()) {
      folders.push_back(source + "/models");
    }
  }
  std::erase_if(folders, [](const std::string& folder) { return !is_directory(folder); });
  return folders;
}

std::vector<std::string> installed_model_folders() {
  std::vector<std::string> folders;
  if (const auto list = environment("BERT_MODEL_PATH")) {
    for (size_t begin = 0; begin <= list->size();) {
      const size_t end = std::min(list->find(':', begin), list->size());
      if (end > begin) folders.push_back(list->substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (const auto data = environment("XDG_DATA_HOME")) {
    folders.push_back(*data + "/bert/models");
  } else if (const auto home = environment("HOME")) {
    folders.push_back(*home + "/.local/share/bert/models");
  }
  for (std::string& folder : own_model_folders()) folders.push_back(std::move(folder));
  return folders;
}

/// The snapshot that refs/main of a cached repository names, else its only one; empty if there is
/// none.
std::string snapshot_of(const fs::path& repository) {
  std::ifstream ref(repository / "refs/main");
  std::string commit;
  if (ref >> commit && commit.find('/') == std::string::npos && commit != ".." && commit != ".") {
    const std::string snapshot = repository / "snapshots" / commit;
    if (is_model(snapshot)) return snapshot;
  }
  std::vector<std::string> snapshots;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(repository / "snapshots", error)) {
    if (is_model(entry.path())) snapshots.push_back(entry.path());
  }
  return snapshots.size() == 1 ? snapshots[0] : "";
}

/// A name with or without its organisation. Without one, all organisations are searched.
std::string find_in_hub_cache(const std::string& name) {
  const std::string cache = hub_cache();
  if (cache.empty() || !is_directory(cache)) return "";
  std::string folder = "models--" + name;
  if (const size_t slash = folder.find('/'); slash != std::string::npos) {
    folder.replace(slash, 1, "--");
    return folder.find('/') == std::string::npos ? snapshot_of(fs::path(cache) / folder) : "";
  }
  if (const std::string snapshot = snapshot_of(fs::path(cache) / folder); !snapshot.empty())
    return snapshot;
  std::vector<std::string> names, snapshots;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache, error)) {
    const std::string repository = entry.path().filename();
    if (!repository.starts_with("models--") || !repository.ends_with("--" + name)) continue;
    const std::string snapshot = snapshot_of(entry.path());
    if (snapshot.empty()) continue;
    names.push_back(repository.substr(8, repository.size() - 8 - name.size() - 2) + "/" + name);
    snapshots.push_back(snapshot);
  }
  if (snapshots.size() > 1) {
    std::sort(names.begin(), names.end());
    throw Error(Error::Kind::no_input, name,
                fmt::format("several models have this name: {}", fmt::join(names, ", ")));
  }
  return snapshots.empty() ? "" : snapshots[0];
}

/// The installed model whose name is nearest, or "".
std::string nearest_installed(const std::string& name) {
  std::vector<std::string> names;
  for (const std::string& folder : installed_model_folders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_model(entry.path())) names.push_back(entry.path().filename());
    }
  }
  return nearest_name(name, names);
}

[[noreturn]] void throw_unknown(const std::string& name) {
  std::string places = fmt::format("{}", fmt::join(installed_model_folders(), ", "));
  if (const std::string cache = hub_cache(); !cache.empty()) {
    places += (places.empty() ? "" : ", ") + cache;
  }
  std::string hint;
  if (const std::string nearest = nearest_installed(name); !nearest.empty()) {
    hint = fmt::format("; did you mean {}?", printable(nearest));
  } else if (is_hub_name(name)) {
    hint = fmt::format("; if the Hugging Face hub has it, 'bert-pull {}' downloads it", name);
  }
  throw Error(
      Error::Kind::no_input, name,
      fmt::format("no such model: wants a directory with config.json, or a name found in {}{}",
                  places.empty() ? "$BERT_MODEL_PATH" : places, hint));
}

std::string default_model() {
  for (const std::string& folder : own_model_folders()) {
    if (is_model(folder + "/default")) return folder + "/default";
  }
  throw Error(
      Error::Kind::no_input, "",
      "no model: pass -m DIR or set BERT_MODEL to a model directory (config.json, vocab.txt, "
      "model.safetensors), for example one that 'bert-pull NAME' downloads from the Hugging Face "
      "hub");
}

/// As resolve_model, for a name, whatever the directory holds.
std::string find_model(const std::string& name) {
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (fs::is_directory(status))
    return name.substr(0, std::max<size_t>(name.find_last_not_of('/') + 1, 1));
  if (fs::exists(status)) {
    throw Error(Error::Kind::no_input, name,
                "not a directory; a model is a directory with config.json");
  }
  if (error && error.value() != ENOENT && error.value() != ENOTDIR) {
    throw Error::from_errno(name, "cannot open", error.value());
  }
  if (name.find('\0') == std::string::npos && !name.starts_with('.') && !name.starts_with('/') &&
      name.find("..") == std::string::npos) {
    for (const std::string& folder : installed_model_folders()) {
      if (is_model(folder + "/" + name)) return folder + "/" + name;
    }
    if (const std::string snapshot = find_in_hub_cache(name); !snapshot.empty()) return snapshot;
  }
  throw_unknown(name);
}

[[noreturn]] void refuse_second(const std::string& directory) {
  throw Error(Error::Kind::unsupported, directory,
              "the base of an adapter is one itself; wants a whole model");
}

/// The directory of the model that an adapter changes.
std::string base_of(const Adapter& adapter) {
  const std::string& name = adapter.config().base;
  if (name.empty()) {
    throw Error(Error::Kind::no_input, adapter.folder(),
                "an adapter of a model that it does not name; `adapter` gives it to a model");
  }
  std::string directory;
  try {
    directory = find_model(name);
    refuse_no_model(directory);
  } catch (const Error& error) {
    throw Error(error.kind(), adapter.folder(),
                fmt::format("an adapter of {}; `adapter` gives it to another", error.what()));
  }
  if (Adapter::stands_in(directory)) refuse_second(directory);
  return directory;
}

}  // namespace

std::string resolve_model(const std::string& name) {
  const std::string wanted = name.empty() ? environment("BERT_MODEL").value_or("") : name;
  std::string directory = wanted.empty() ? default_model() : find_model(wanted);
  refuse_no_model(directory);
  return directory;
}

ResolvedModel resolve_model(const std::string& name, const std::string& adapter) {
  ResolvedModel model{resolve_model(name)};
  const bool changed = Adapter::stands_in(model.directory);
  if (!adapter.empty()) {
    const std::string folder = find_model(adapter);
    if (!Adapter::stands_in(folder)) {
      throw Error(Error::Kind::no_input, folder,
                  fmt::format("no adapter: wants a directory with {}", file_names::kAdapter));
    }
    if (changed) refuse_second(model.directory);
    model.adapter = std::make_shared<const Adapter>(folder);
  } else if (changed) {
    model.adapter = std::make_shared<const Adapter>(model.directory);
    // A whole model with an adapter beside it is its base, as transformers takes it.
    const std::string config = fmt::format("{}/{}", model.directory, file_names::kConfig);
    const bool whole = entry_exists(config) && weights_present(model.directory);
    if (!whole) model.directory = base_of(*model.adapter);
  }
  return model;
}

std::vector<InstalledModel> installed_models() {
  std::map<std::string, std::string> models;
  std::error_code error;
  for (const std::string& folder : installed_model_folders()) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_model(entry.path())) models.emplace(entry.path().filename(), entry.path());
    }
  }
  for (const auto& entry : fs::directory_iterator(hub_cache(), error)) {
    std::string name = entry.path().filename();
    if (!name.starts_with("models--")) continue;
    name.erase(0, 8);
    if (const size_t dashes = name.find("--"); dashes != std::string::npos)
      name.replace(dashes, 2, "/");
    models.emplace(name, snapshot_of(entry.path()));
  }
  std::vector<InstalledModel> list;
  for (const auto& [name, directory] : models) list.push_back({name, directory});
  return list;
}

}  // namespace bert
