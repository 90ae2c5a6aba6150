#include "directory/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/sentence_modules.h"
#include "io/json_writer.h"
#include "io/mapped_file.h"
#include "io/output_file.h"

namespace bert {
namespace {

namespace fs = std::filesystem;

void add_file(const ModelDirectory& directory, const std::string& name, NamedFiles& files) {
  if (!directory.has(name)) return;
  files.emplace_back(name, MappedFile::open(directory.file(name)).text());
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
  return fmt::format("{{\"hops\": {}, \"size\": {}{}}}", head.pooling.hops, head.pooling.size,
                     head.pooling.unit ? ", \"unit\": true" : "");
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

NamedFiles tokenizer_files(const ModelDirectory& directory) {
  NamedFiles files;
  for (const ModelFile& file : kModelFiles) {
    if (is_tokenizer_file(file)) add_file(directory, std::string(file.name), files);
  }
  return files;
}

bool holds_model(const std::string& directory) {
  return std::any_of(std::begin(kModelFiles), std::end(kModelFiles), [&](const ModelFile& file) {
    return (file.role == FileRole::weights || file.name == file_names::kAdapter) &&
           file_exists(fmt::format("{}/{}", directory, file.name));
  });
}

void remove_other_model_files(const NamedFiles& files, const std::string& directory) {
  for (const ModelFile& file : kModelFiles) {
    const bool kept = file.name == file_names::kSafetensors ||
                      std::any_of(files.begin(), files.end(),
                                  [&](const auto& other) { return other.first == file.name; });
    std::error_code ignored;
    if (use_of(file.role).stale && !kept) fs::remove(fs::path(directory) / file.name, ignored);
  }
}

NamedFiles model_files(const ModelDirectory& directory) {
  NamedFiles files = tokenizer_files(directory);
  for (const FileRole role :
       {FileRole::modules, FileRole::transformer, FileRole::layers, FileRole::about}) {
    for (const ModelFile& file : kModelFiles) {
      if (file.role == role) add_file(directory, std::string(file.name), files);
    }
  }
  const JsonDocument* modules = directory.find(file_names::kModules);
  if (!modules) return files;
  if (directory.router()) {
    throw Error(Error::Kind::unsupported, directory.file(file_names::kModules),
                "a model of several routes (Router); wants the folder of one of them, such as " +
                    directory.path());
  }
  // Refuses folders that are not inside, and layers that do not fit.
  SentenceModules::open(directory).check_widths(directory.config().hidden_size);
  modules->root().for_each_element([&](Json module) {
    const std::string folder(module.at("path").as_string());
    if (folder.empty() || folder == ".") return;
    for (const std::string_view name :
         {file_names::kConfig, file_names::kCnn, file_names::kSafetensors, file_names::kPickle}) {
      add_file(directory, fmt::format("{}/{}", folder, name), files);
    }
  });
  return files;
}

NamedFiles pooling_modules(size_t hidden_size, std::string_view pooling) {
  constexpr const char* kFolder = "1_Pooling";
  const auto module = [](int index, const char* path, const char* type) {
    return fmt::format(R"({{"idx": {0}, "name": "{0}", "path": "{1}", )"
                       R"("type": "sentence_transformers.models.{2}"}})",
                       index, path, type);
  };
  const auto flag = [&](const char* mode) { return pooling == mode ? "true" : "false"; };
  std::string settings = fmt::format("{{\"word_embedding_dimension\": {}", hidden_size);
  settings += fmt::format(", \"pooling_mode_cls_token\": {}", flag("cls"));
  settings += fmt::format(", \"pooling_mode_mean_tokens\": {}}}\n", flag("mean"));
  return {
      {std::string(file_names::kModules),
       fmt::format("[{},\n {}]\n", module(0, "", "Transformer"), module(1, kFolder, "Pooling"))},
      {fmt::format("{}/{}", kFolder, file_names::kConfig), std::move(settings)}};
}

void write_model(const NamedFiles& files, const WeightsWriter& weights,
                 const std::string& directory) {
  write_model(files, {{std::string(file_names::kSafetensors), &weights}}, directory);
}

void write_model(const NamedFiles& files, const NamedWeights& weights,
                 const std::string& directory) {
  const OutputDirectory made(directory);
  std::list<OutputDirectory> folders;
  std::vector<std::unique_ptr<OutputFile>> small, large;
  const auto begin = [&](const std::string& name) {
    const fs::path path = fs::path(directory) / name;
    folders.emplace_back(path.parent_path().string());
    return std::make_unique<OutputFile>(path.string());
  };
  for (const auto& [name, writer] : weights) {
    large.push_back(begin(name));
    writer->write(*large.back());
    large.back()->finish();
  }
  for (const auto& [name, content] : files) {
    small.push_back(begin(name));
    small.back()->write(content);
    small.back()->finish();
  }
  for (const auto& file : small) file->commit();
  // The last is that of the model itself, with which it is one.
  for (size_t i = large.size(); i-- > 0;) large[i]->commit();
}

std::string edit_config(const Json& root, const ConfigMembers& members) {
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
  root.for_each_member([&](std::string_view key, Json value) {
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

std::string config_with_head(const Json& root, const NamedHead& head) {
  const auto old = root.find("bertutils_heads");
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
  return edit_config(root, {{"bertutils_heads", "{" + heads + "\n  }"}});
}

}  // namespace bert
