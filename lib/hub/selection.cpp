#include "hub/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "io/json.h"

namespace bert {
namespace {

constexpr size_t kMostShards = 1024;

class Selector {
 public:
  Selector(const Listing& listing, const ModelName& model, const ReadRemote& read)
      : listing_(listing), model_(model), read_(read) {}

  Selection run() {
    if (const RemoteFile* adapter = find(file_names::kAdapter)) add_adapter(*adapter);
    const RemoteFile* gliner = find(file_names::kGliner);
    if (gliner) add_encoder(*gliner);
    if (!adapter_ && !gliner && !find(file_names::kConfig) && !find(file_names::kModules)) {
      throw Error(Error::Kind::unsupported, model_.text(),
                  "has neither config.json nor modules.json, so the tools cannot read it");
    }
    std::set<std::string> folders = {""};
    if (const RemoteFile* modules = find(file_names::kModules)) add_folders(*modules, folders);
    if (const RemoteFile* router = find(file_names::kRouter)) add_routes(*router, folders);
    for (const std::string& folder : folders) {
      for (const ModelFile& file : kModelFiles) {
        if (use_of(file.role).pulled) add(folder + std::string(file.name));
      }
      add_weights(folder);
    }
    if (!weights_ && !adapter_) {
      result_.notices.push_back(model_.text() +
                                ": has no model.safetensors and no pytorch_model.bin; only its "
                                "config and tokenizer are downloaded");
    }
    return std::move(result_);
  }

 private:
  const RemoteFile* find(std::string_view path) const {
    const auto found = listing_.files.find(std::string(path));
    return found == listing_.files.end() ? nullptr : &found->second;
  }

  bool add(const std::string& path) {
    const RemoteFile* file = find(path);
    if (file && added_.insert(path).second) result_.files.push_back(*file);
    return file != nullptr;
  }

  JsonDocument parse(const RemoteFile& file) const {
    return JsonDocument::parse(read_(file), model_.text() + ": " + file.path);
  }

  /// Its base is a model of its own.
  void add_adapter(const RemoteFile& file) {
    adapter_ = true;
    const std::string base = AdapterConfig::read(parse(file).root()).base;
    if (find(file_names::kConfig) || base.empty()) return;
    result_.notices.push_back(fmt::format("{}: an adapter of {}, which the tools want, too",
                                          model_.text(), printable(base)));
  }

  /// The model that a GLiNER was made of has what is not here.
  void add_encoder(const RemoteFile& file) {
    const JsonDocument document = parse(file);
    if (!document.root().is_object()) return;
    const auto config = document.root().find("encoder_config");
    const bool tokenizer = std::any_of(
        std::begin(kModelFiles), std::end(kModelFiles),
        [&](const ModelFile& known) { return is_tokenizer_file(known) && find(known.name); });
    if (tokenizer && config && config->is_object()) return;
    const auto name = document.root().find("model_name");
    if (!name || !name->is_string()) return;
    try {
      result_.encoder = ModelName::parse(std::string(name->as_string())).text();
    } catch (const Error&) {  // a folder of whoever trained it
      result_.notices.push_back(
          fmt::format("{}: takes the tokenizer of {}, which is no model of the hub", model_.text(),
                      printable(name->as_string())));
    }
  }

  /// Those of sentence-transformers' modules. Whether they can be used, the tools say.
  void add_folders(const RemoteFile& modules, std::set<std::string>& folders) const {
    const JsonDocument document = parse(modules);
    if (!document.root().is_array()) return;
    document.root().for_each_element([&](Json module) {
      const auto path = module.is_object() ? module.find("path") : std::nullopt;
      if (!path || !path->is_string()) return;
      std::string folder(path->as_string());
      if (is_safe_path(folder)) folders.insert(folder + "/");
    });
  }

  /// Those of a Router's modules.
  void add_routes(const RemoteFile& router, std::set<std::string>& folders) const {
    const JsonDocument document = parse(router);
    const auto types = document.root().find("types");
    if (!types || !types->is_object()) return;
    types->for_each_member([&](std::string_view id, Json) {
      if (is_safe_path(std::string(id))) folders.insert(std::string(id) + "/");
    });
  }

  void add_shards(const std::string& folder, const std::string& index) {
    const JsonDocument document = parse(*find(index));
    std::set<std::string> shards;
    document.root().at("weight_map").for_each_member([&](std::string_view, Json shard) {
      shards.insert(folder + std::string(shard.as_string()));
      if (shards.size() > kMostShards) {
        throw Error(Error::Kind::data, shard.where(),
                    fmt::format("more than {} files", kMostShards));
      }
    });
    for (const std::string& shard : shards) {
      if (add(shard)) continue;
      throw Error(
          Error::Kind::data, model_.text(),
          fmt::format("{} names {}, which the model does not have", index, printable(shard)));
    }
  }

  void add_weights(const std::string& folder) {
    for (const std::string_view name : {file_names::kSafetensors, file_names::kPickle}) {
      const std::string whole = fmt::format("{}{}", folder, name);
      const std::string index = fmt::format("{}{}", whole, file_names::kIndexEnding);
      const bool sharded = !find(whole) && find(index);
      if (!sharded && !find(whole)) continue;
      weights_ = true;
      add(sharded ? index : whole);
      if (sharded) add_shards(folder, index);
      if (name != file_names::kPickle) return;
      result_.notices.push_back(fmt::format("{}: {} is downloaded, since there is no {}{}",
                                            model_.text(), whole, folder,
                                            file_names::kSafetensors));
      return;
    }
  }

  const Listing& listing_;
  const ModelName& model_;
  const ReadRemote& read_;
  Selection result_;
  std::set<std::string> added_;
  bool weights_ = false, adapter_ = false;
};

}  // namespace

Selection select_files(const Listing& listing, const ModelName& model, const ReadRemote& read) {
  return Selector(listing, model, read).run();
}

Selection select_tokenizer(const Listing& listing) {
  Selection selection;
  for (const ModelFile& known : kModelFiles) {
    const auto found = listing.files.find(std::string(known.name));
    const bool wanted = known.name == file_names::kConfig || is_tokenizer_file(known);
    if (wanted && found != listing.files.end()) selection.files.push_back(found->second);
  }
  return selection;
}

}  // namespace bert
