#include "trainers/vector_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/module_stages.h"
#include "io/json.h"
#include "io/json_writer.h"

namespace bert {
namespace {

using training::ModulePlan;

constexpr size_t kLateWidth = 128, kQueryLength = 32, kDocumentLength = 180;  // PyLate's
constexpr const char* kIdentity = "torch.nn.modules.linear.Identity";
constexpr const char* kTanh = "torch.nn.modules.activation.Tanh";

/// Throws Error(unsupported) if vectors of these modules are not trained.
void require_trained(const SentenceModules& modules, const std::string& path) {
  const auto refuse = [&](const char* what) {
    throw Error(Error::Kind::unsupported, path,
                fmt::format("{}: vectors of such a model are not trained yet", what));
  };
  if (modules.static_folder) refuse("has static vectors");
  if (modules.layer_mean) refuse("takes the mean of layers");
  if (modules.of_tokens && !modules.present) refuse("is a directory of ColBERT itself");
  if (modules.scores || modules.splade || modules.of_logits) {
    refuse("does not give vectors that are trained");
  }
  if (modules.pooling_modes.empty() && !modules.of_tokens) refuse("has no Pooling");
}

/// The modules of the directory, which go on learning.
std::vector<ModulePlan> plans_of(const std::vector<SentenceModules::Dense>& layers,
                                 const std::string& directory) {
  std::vector<ModulePlan> plans;
  for (const SentenceModules::Dense& layer : layers) {
    std::string folder = layer.directory.path();
    if (folder.starts_with(directory)) folder.erase(0, directory.size());
    folder.erase(0, std::min(folder.find_first_not_of('/'), folder.size()));
    plans.push_back({std::move(folder), layer});
  }
  return plans;
}

ModulePlan new_dense(const std::string& folder, size_t in, size_t out, bool of_tokens) {
  ModulePlan plan{folder, {}};
  plan.layer.in_features = in;
  plan.layer.out_features = out;
  plan.layer.bias = !of_tokens;
  plan.layer.activation = of_tokens ? Activation::none : Activation::tanh;
  return plan;
}

/// The config.json of a new Dense.
std::string dense_config(const ModuleLayer& layer) {
  return fmt::format(
      "{{\n  \"in_features\": {},\n  \"out_features\": {},\n  \"bias\": {},\n"
      "  \"activation_function\": \"{}\"\n}}\n",
      layer.in_features, layer.out_features, layer.bias ? "true" : "false",
      layer.activation == Activation::none ? kIdentity : kTanh);
}

std::string module_entry(std::string_view name, std::string_view folder, std::string_view type) {
  return fmt::format(
      "\n  {{\n    \"idx\": 0,\n    \"name\": \"{0}\",\n    \"path\": \"{1}\",\n"
      "    \"type\": \"{2}\"\n  }}",
      name, folder, type);
}

/// Sets the content of a file, in place of one of this name.
void put_file(NamedFiles& files, std::string name, std::string content) {
  std::erase_if(files, [&](const auto& file) { return file.first == name; });
  files.emplace_back(std::move(name), std::move(content));
}

/// Adds a module behind the pooling to modules.json.
void add_dense(NamedFiles& files, const std::string& folder) {
  const auto found = std::find_if(files.begin(), files.end(), [](const auto& file) {
    return file.first == file_names::kModules;
  });
  const JsonDocument document = JsonDocument::parse(found->second, "modules.json");
  const std::string dense =
      module_entry("dense", folder, "sentence_transformers.models.Dense");
  std::vector<std::string> entries;
  document.root().for_each_element([&](Json module) {
    const auto stage = stage_of(module.at("type").as_string());
    if (stage == Stage::normalize) entries.push_back(dense);
    std::string text = "\n  ";
    append_json(text, module, "  ");
    entries.push_back(std::move(text));
  });
  const bool placed = std::find(entries.begin(), entries.end(), dense) != entries.end();
  if (!placed) entries.push_back(dense);
  put_file(files, std::string(file_names::kModules),
           fmt::format("[{}\n]\n", fmt::join(entries, ",")));
}

/// The settings of a new model of late interaction, as PyLate writes them. Its markers are two
/// tokens that the vocabulary has and no text uses, or none.
std::string late_settings(const Tokenizer& tokenizer, size_t query_length,
                          size_t document_length, bool attend) {
  constexpr const char* kMarkers[] = {"[unused0]", "[unused1]"};
  const bool marked = tokenizer.token_to_id(kMarkers[0]) && tokenizer.token_to_id(kMarkers[1]);
  std::string skipped;
  for (char c = '!'; c <= '~'; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter) skipped += (skipped.empty() ? "" : ", ") + json_string(std::string(1, c));
  }
  return fmt::format(
      "{{\n  \"model_type\": \"ColBERT\",\n  \"prompts\": {{}},\n  \"default_prompt_name\": null,\n"
      "  \"similarity_fn_name\": \"MaxSim\",\n  \"query_prefix\": \"{}\",\n"
      "  \"document_prefix\": \"{}\",\n  \"query_length\": {},\n  \"document_length\": {},\n"
      "  \"attend_to_expansion_tokens\": {},\n  \"do_query_expansion\": {},\n"
      "  \"skiplist_words\": [{}]\n}}\n",
      marked ? kMarkers[0] : "", marked ? kMarkers[1] : "", query_length, document_length,
      attend ? "true" : "false", tokenizer.mask_id() >= 0 ? "true" : "false", skipped);
}

/// The files of new vectors of tokens.
NamedFiles late_files(const ModulePlan& dense, const Tokenizer& tokenizer, size_t length,
                      const Config& config) {
  const size_t most = config.max_tokens();
  const size_t document = std::min(most, length > 0 ? length : kDocumentLength);
  const bool attend = config.conv_kernel_size > 0;
  std::string modules = "[" +
                        module_entry("0", "", "sentence_transformers.models.Transformer") + "," +
                        module_entry("1", dense.folder, kPylateDense) + "\n]\n";
  return {{std::string(file_names::kModules), std::move(modules)},
          {dense.folder + "/" + std::string(file_names::kConfig), dense_config(dense.layer)},
          {"sentence_bert_config.json",
           fmt::format("{{\n  \"max_seq_length\": {},\n  \"do_lower_case\": false\n}}\n",
                       document)},
          {std::string(file_names::kSentenceTransformers),
           late_settings(tokenizer, std::min(most, kQueryLength), document, attend)}};
}

/// LateInteraction as these settings say.
LateInteraction late_of(const NamedFiles& files) {
  const auto found = std::find_if(files.begin(), files.end(), [](const auto& file) {
    return file.first == file_names::kSentenceTransformers;
  });
  return LateInteraction::of_pylate(JsonDocument::parse(found->second, found->first).root());
}

}  // namespace

VectorModules VectorModules::make(const FinetuneOptions& options, const SentenceModules& modules,
                                  const Config& config, const Tokenizer& tokenizer) {
  const std::string& path = options.model.path();
  require_trained(modules, options.model.file(file_names::kModules));
  const size_t dense = options.vectors.dense;
  VectorModules made;
  made.normalize = modules.normalize;
  made.token_layers = plans_of(modules.token_layers, path);
  made.dense = plans_of(modules.dense, path);
  const bool tokens = options.vectors.of_tokens || modules.of_tokens;
  if (dense > 0 && !made.dense.empty()) {
    throw Error::of_field("dense", "is for a model without a Dense module of its own");
  }
  if (!modules.of_tokens && !tokens) {
    const bool first_is_vector = !modules.present && config.family->vector_is_first;
    made.pooling = first_is_vector ? std::vector<std::string>{"cls"} : modules.pooling_modes;
  }
  if (modules.present && tokens == modules.of_tokens) {
    made.files = model_files(options.model);
  } else if (!tokens) {
    made.files = pooling_modules(config.hidden_size, made.pooling.front());
  }
  if (tokens && !modules.of_tokens) {
    made.normalize = true;
    made.token_layers.clear();
    made.dense = {new_dense("1_Dense", config.hidden_size, dense > 0 ? dense : kLateWidth, true)};
    made.files = late_files(made.dense[0], tokenizer, options.max_length, config);
  } else if (dense > 0) {
    size_t width = made.token_layers.empty() ? config.hidden_size
                                             : made.token_layers.back().layer.out_features;
    width *= made.pooling.size();
    made.dense = {new_dense("2_Dense_new", width, dense, false)};
    add_dense(made.files, made.dense[0].folder);
    put_file(made.files, made.dense[0].folder + "/" + std::string(file_names::kConfig),
             dense_config(made.dense[0].layer));
  }
  if (tokens) {
    const LateInteraction late = modules.of_tokens
                                     ? LateInteraction::open(options.model, modules)
                                     : late_of(made.files);
    made.query = LateSide::of_query(tokenizer, late, path);
    made.document = LateSide::of_document(tokenizer, late);
    made.mean_of_tokens = late.mean;
  }
  for (const auto* plans : {&made.token_layers, &made.dense}) {
    for (const ModulePlan& plan : *plans) {  // the network writes their weights
      std::erase_if(made.files, [&](const auto& file) {
        return file.first == fmt::format("{}/{}", plan.folder, file_names::kSafetensors) ||
               file.first == fmt::format("{}/{}", plan.folder, file_names::kPickle);
      });
    }
  }
  return made;
}

void VectorModules::settle(training::VectorTask& task) const {
  task.poolings.clear();
  for (const std::string& name : pooling) task.poolings.push_back(pooling_from_name(name));
  task.token_layers = token_layers;
  task.dense = dense;
  task.normalize = normalize;
  task.loss.mean_of_tokens = mean_of_tokens;
}

void VectorModules::load(const training::Layout& layout, uint64_t seed, float* values) const {
  for (const auto* plans : {&token_layers, &dense}) {
    for (const ModulePlan& plan : *plans) training::load_module(plan, layout, seed, values);
  }
}

}  // namespace bert
