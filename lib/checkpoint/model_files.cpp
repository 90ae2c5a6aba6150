#include "checkpoint/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <memory>
#include <string_view>

#include "checkpoint/model_dir.h"
#include "io/adapter.h"
#include "io/json_writer.h"
#include "io/mapped_file.h"
#include "io/output_file.h"

namespace bert {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModuleFiles[] = {"modules.json", "config_sentence_transformers.json",
                                        "artifact.metadata"};
constexpr const char* kWeightFiles[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json"};
/// Beside a model that is written here, they would make an adapter of it.
constexpr const char* kAdapterFiles[] = {kAdapterConfig, "adapter_model.safetensors",
                                         "adapter_model.bin"};

void add_file(const std::string& directory, const std::string& name, NamedFiles& files) {
  const std::string path = directory + "/" + name;
  if (file_exists(path)) files.emplace_back(name, MappedFile::open(path).text());
}

/// {"0": "negative", "1": "positive"}
std::string id2label(const HeadConfig& head) {
  std::string text;
  for (size_t i = 0; i < head.labels.size(); ++i) {
    text += fmt::format("{}\"{}\": {}", i ? ", " : "", i, json_string(head.labels[i]));
  }
  return "{" + text + "}";
}

std::string label2id(const HeadConfig& head) {
  std::string text;
  for (size_t i = 0; i < head.labels.size(); ++i) {
    text += fmt::format("{}{}: {}", i ? ", " : "", json_string(head.labels[i]), i);
  }
  return "{" + text + "}";
}

std::string pooling_member(const HeadConfig& head) {
  if (head.pooling.hops == 0) return "";
  return fmt::format("{{\"hops\": {}, \"size\": {}}}", head.pooling.hops, head.pooling.size);
}

std::string null_threshold_of(const HeadConfig& head) {
  return head.null_score_diff_threshold ? fmt::format("{}", *head.null_score_diff_threshold) : "";
}

/// Empty if the head has none.
std::string bilstm_of(const HeadConfig& head) {
  if (!head.bilstm) return "";
  return fmt::format("{{\"layers\": {}, \"hidden_size\": {}, \"num_layers\": {}}}",
                     json_string(head.bilstm.layers), head.bilstm.hidden_size,
                     head.bilstm.num_layers);
}

/// The entry of bertutils_heads.
std::string entry_of(const NamedHead& head) {
  std::string text = fmt::format("{{\"task\": {}", json_string(head.task));
  if (head.preferred) text += ", \"default\": true";
  if (!head.problem_type.empty()) {
    text += fmt::format(", \"problem_type\": {}", json_string(head.problem_type));
  }
  if (head.labels_named) text += ", \"id2label\": " + id2label(head);
  if (head.null_score_diff_threshold) {
    text += ", \"null_score_diff_threshold\": " + null_threshold_of(head);
  }
  if (head.pooling.hops > 0) text += ", \"bertutils_pooling\": " + pooling_member(head);
  if (head.bilstm) text += ", \"bertutils_bilstm\": " + bilstm_of(head);
  return text + "}";
}

}  // namespace

NamedFiles tokenizer_files(const std::string& directory) {
  NamedFiles files;
  for (const char* name : kTokenizerFiles) {
    add_file(directory, name, files);
  }
  return files;
}

bool holds_model(const std::string& directory) {
  const auto exists = [&](const char* name) { return file_exists(directory + "/" + name); };
  return std::any_of(std::begin(kWeightFiles), std::end(kWeightFiles), exists) ||
         exists(kAdapterConfig);
}

void remove_other_model_files(const NamedFiles& files, const std::string& directory) {
  const auto remove = [&](const char* name) {
    const bool kept = std::any_of(files.begin(), files.end(),
                                  [&](const auto& file) { return file.first == name; });
    std::error_code ignored;
    if (!kept) fs::remove(fs::path(directory) / name, ignored);
  };
  for (const char* name : kTokenizerFiles) remove(name);
  for (const char* name : kModuleFiles) remove(name);
  for (const char* name : kTransformerSettings) remove(name);
  for (const char* name : kAdapterFiles) remove(name);
  for (const char* name : kWeightFiles) {
    if (name != std::string_view("model.safetensors")) remove(name);
  }
}

NamedFiles model_files(const std::string& directory) {
  NamedFiles files = tokenizer_files(directory);
  for (const char* name : kModuleFiles) add_file(directory, name, files);
  for (const char* name : kTransformerSettings) add_file(directory, name, files);
  for (const char* name : {"README.md", "LICENSE", "NOTICE"}) add_file(directory, name, files);
  if (!file_exists(directory + "/modules.json")) return files;
  // Refuses folders that are not inside, and layers that do not fit.
  SentenceModules::open(directory).check_widths(Config::open(directory).hidden_size);
  const JsonDocument modules = JsonDocument::open(directory + "/modules.json");
  modules.root().for_each_element([&](Json module) {
    const std::string folder(module.at("path").as_string());
    if (folder.empty() || folder == ".") return;
    for (const char* name : {"config.json", "model.safetensors", "pytorch_model.bin"}) {
      add_file(directory, folder + "/" + name, files);
    }
  });
  return files;
}

void write_model(const NamedFiles& files, const WeightsWriter& weights,
                 const std::string& directory) {
  const OutputDirectory made(directory);
  std::list<OutputDirectory> folders;
  OutputFile large(directory + "/model.safetensors");
  weights.write(large);
  large.finish();
  std::vector<std::unique_ptr<OutputFile>> written;
  for (const auto& [name, content] : files) {
    const fs::path path = fs::path(directory) / name;
    folders.emplace_back(path.parent_path().string());
    written.push_back(std::make_unique<OutputFile>(path.string()));
    written.back()->write(content);
    written.back()->finish();
  }
  for (const auto& file : written) file->commit();
  large.commit();  // with which it is a model
}

std::string edit_config(const std::string& path, const ConfigMembers& members) {
  const JsonDocument document = JsonDocument::open(path);
  std::string out = "{";
  const auto add = [&](std::string_view key, std::string_view value) {
    out += out.size() == 1 ? "\n  " : ",\n  ";
    append_json_string(out, key);
    out += ": ";
    out += value;
  };
  for (const auto& [key, value] : members) {
    if (!value.empty()) add(key, value);
  }
  document.root().for_each_member([&](std::string_view key, Json value) {
    if (std::any_of(members.begin(), members.end(), [&](const auto& m) { return m.first == key; }))
      return;
    std::string text;
    append_json(text, value, "  ");
    add(key, text);
  });
  return out + "\n}\n";
}

ConfigMembers head_members(const HeadConfig& head) {
  std::string names;
  for (const std::string& name : head.architectures) {
    names += (names.empty() ? "" : ", ") + json_string(name);
  }
  return {{"architectures", "[" + names + "]"},
          {"id2label", head.labels_named ? id2label(head) : ""},
          {"label2id", head.labels_named ? label2id(head) : ""},
          {"problem_type", head.problem_type.empty() ? "" : json_string(head.problem_type)},
          {"null_score_diff_threshold", null_threshold_of(head)},
          {"bertutils_pooling", pooling_member(head)},
          {"bertutils_bilstm", bilstm_of(head)}};
}

std::string head_list(std::span<const NamedHead> heads) {
  std::string list;
  for (const NamedHead& head : heads) {
    list += fmt::format("{}\n    {}: {}", list.empty() ? "" : ",", json_string(head.name),
                        entry_of(head));
  }
  return list.empty() ? "" : "{" + list + "\n  }";
}

std::string config_with_head(const std::string& path, const NamedHead& head) {
  const JsonDocument document = JsonDocument::open(path);
  const auto old = document.root().find("bertutils_heads");
  std::string heads;
  const auto add = [&](std::string_view name, std::string_view entry) {
    heads += fmt::format("{}\n    {}: {}", heads.empty() ? "" : ",", json_string(name), entry);
  };
  bool added = false;
  if (old && old->is_object()) {
    old->for_each_member([&](std::string_view name, Json value) {
      added |= name == head.name;
      std::string text;
      append_json(text, value, "    ");
      add(name, name == head.name ? entry_of(head) : text);
    });
  }
  if (!added) add(head.name, entry_of(head));
  return edit_config(path, {{"bertutils_heads", "{" + heads + "\n  }"}});
}

}  // namespace bert
