#include "directory/new_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "directory/file_names.h"
#include "directory/module_stages.h"
#include "io/json.h"
#include "io/json_writer.h"

namespace bert {
namespace {

std::string dense_config(const ModuleLayer& layer) {
  constexpr const char* kIdentity = "torch.nn.modules.linear.Identity";
  constexpr const char* kTanh = "torch.nn.modules.activation.Tanh";
  return fmt::format(
      "{{\n  \"in_features\": {},\n  \"out_features\": {},\n  \"bias\": {},\n"
      "  \"activation_function\": \"{}\"\n}}\n",
      layer.in_features, layer.out_features, layer.bias ? "true" : "false",
      layer.activation == Activation::none ? kIdentity : kTanh);
}

std::string module_entry(size_t index, std::string_view name, std::string_view folder,
                         std::string_view type) {
  return fmt::format(
      "\n  {{\n    \"idx\": {},\n    \"name\": \"{}\",\n    \"path\": \"{}\",\n"
      "    \"type\": \"{}\"\n  }}",
      index, name, folder, type);
}

std::string config_of(const std::string& folder) {
  return fmt::format("{}/{}", folder, file_names::kConfig);
}

/// Python's string.punctuation, as JSON.
std::string punctuation() {
  std::string words;
  for (char c = '!'; c <= '~'; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter) words += (words.empty() ? "" : ", ") + json_string(std::string(1, c));
  }
  return words;
}

}  // namespace

NamedFiles NewLateFiles::make(const std::string& folder, const ModuleLayer& dense) const {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::string modules = fmt::format(
      "[{},{}\n]\n", module_entry(0, "0", "", "sentence_transformers.models.Transformer"),
      module_entry(1, "1", folder, kPylateDense));
  std::string settings = fmt::format(
      "{{\n  \"model_type\": \"ColBERT\",\n  \"prompts\": {{}},\n"
      "  \"default_prompt_name\": null,\n  \"similarity_fn_name\": \"MaxSim\",\n"
      "  \"query_prefix\": \"{}\",\n  \"document_prefix\": \"{}\",\n"
      "  \"query_length\": {},\n  \"document_length\": {},\n"
      "  \"attend_to_expansion_tokens\": {},\n  \"do_query_expansion\": {},\n"
      "  \"skiplist_words\": [{}]\n}}\n",
      has_markers ? kMarkers[0] : "", has_markers ? kMarkers[1] : "", query_length, document_length,
      flag(attends), flag(fills_up), punctuation());
  std::string transformer = fmt::format(
      "{{\n  \"max_seq_length\": {},\n  \"do_lower_case\": false\n}}\n", document_length);
  return {{std::string(file_names::kModules), std::move(modules)},
          {config_of(folder), dense_config(dense)},
          {"sentence_bert_config.json", std::move(transformer)},
          {std::string(file_names::kSentenceTransformers), std::move(settings)}};
}

void add_dense_module(const std::string& folder, const ModuleLayer& dense, NamedFiles& files) {
  const auto found = std::find_if(files.begin(), files.end(), [](const auto& file) {
    return file.first == file_names::kModules;
  });
  const JsonDocument document = JsonDocument::parse(found->second, found->first);
  std::vector<std::string> entries;
  bool placed = false;
  const auto place = [&] {
    const char* type = "sentence_transformers.models.Dense";
    if (!placed) entries.push_back(module_entry(entries.size(), "dense", folder, type));
    placed = true;
  };
  document.root().for_each_element([&](Json module) {
    if (stage_of(module.at("type").as_string()) == Stage::normalize) place();
    std::string& text = entries.emplace_back("\n  ");
    append_json(text, module, "  ");
  });
  place();
  std::string whole = fmt::format("[{}\n]\n", fmt::join(entries, ","));
  found->second = std::move(whole);
  files.emplace_back(config_of(folder), dense_config(dense));
}

}  // namespace bert
