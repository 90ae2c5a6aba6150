#include "hub/selection.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "io/adapter.h"
#include "io/json.h"

namespace bert {
namespace {

/// What the tools read besides weights. A unit test compares the names with checkpoint's.
constexpr const char* kFiles[] = {"config.json",
                                  "generation_config.json",
                                  "modules.json",
                                  "sentence_bert_config.json",
                                  "sentence_roberta_config.json",
                                  "sentence_distilbert_config.json",
                                  "sentence_camembert_config.json",
                                  "sentence_albert_config.json",
                                  "sentence_xlm-roberta_config.json",
                                  "sentence_xlnet_config.json",
                                  "config_sentence_transformers.json",
                                  "artifact.metadata",
                                  "vocab.txt",
                                  "tokenizer.json",
                                  "tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json",
                                  "vocab.json",
                                  "merges.txt",
                                  "sentencepiece.bpe.model",
                                  "spiece.model",
                                  "spm.model",
                                  "sentencepiece.model",
                                  "tokenizer.model",
                                  "source.spm",
                                  "target.spm",
                                  "target_vocab.json"};
constexpr size_t kMostShards = 1024;

class Selector {
 public:
  Selector(const Listing& listing, const ModelName& model, const ReadRemote& read)
      : listing_(listing), model_(model), read_(read) {}

  Selection run() {
    if (const RemoteFile* adapter = find(kAdapterConfig)) {
      throw Error(Error::Kind::unsupported, model_.text(), adapter_text(parse(*adapter).root()));
    }
    if (!find("config.json") && !find("modules.json")) {
      throw Error(Error::Kind::unsupported, model_.text(),
                  "has neither config.json nor modules.json, so the tools cannot read it");
    }
    std::set<std::string> folders = {""};
    if (const RemoteFile* modules = find("modules.json")) add_folders(*modules, folders);
    for (const std::string& folder : folders) {
      for (const char* name : kFiles) add(folder + name);
      add_weights(folder);
    }
    if (!weights_) {
      result_.notices.push_back(model_.text() +
                                ": has no model.safetensors and no pytorch_model.bin; only its "
                                "config and tokenizer are downloaded");
    }
    return std::move(result_);
  }

 private:
  const RemoteFile* find(const std::string& path) const {
    const auto found = listing_.files.find(path);
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
    for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
      const std::string whole = folder + name, index = whole + ".index.json";
      const bool sharded = !find(whole) && find(index);
      if (!sharded && !find(whole)) continue;
      weights_ = true;
      add(sharded ? index : whole);
      if (sharded) add_shards(folder, index);
      if (!whole.ends_with(".bin")) return;
      result_.notices.push_back(fmt::format("{}: {} is downloaded, since there is no {}",
                                            model_.text(), whole, folder + "model.safetensors"));
      return;
    }
  }

  const Listing& listing_;
  const ModelName& model_;
  const ReadRemote& read_;
  Selection result_;
  std::set<std::string> added_;
  bool weights_ = false;
};

}  // namespace

Selection select_files(const Listing& listing, const ModelName& model, const ReadRemote& read) {
  return Selector(listing, model, read).run();
}

}  // namespace bert
