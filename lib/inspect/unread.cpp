#include "inspect/unread.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "checkpoint/stored_turns.h"
#include "directory/file_names.h"
#include "directory/sentence_modules.h"
#include "model/heads.h"
#include "model/names.h"
#include "model/schema.h"
#include "seq2seq/halves.h"

namespace bert {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Names in the file of what is read beside the encoder and its heads.
Names read_beside(const ModelDirectory& directory, const Config& config) {
  Names names;
  if (config.text_input == TextInput::last_end) {  // a classifier whose decoder reads the text
    const Halves halves = Halves::open(directory);
    for (const TensorSpec& spec : encoder_tensors(halves.config.decoder)) {
      if (const TensorView* tensor = halves.decoder->find(spec.name)) names.insert(tensor->name);
    }
  }
  if (directory.has(file_names::kModules)) return names;
  // ColBERT's own directories have the layer over tokens with the encoder's weights.
  for (const SentenceModules::Dense& layer : SentenceModules::open(directory).dense) {
    names.insert(layer.prefix + "weight");
  }
  return names;
}

}  // namespace

std::vector<std::string> unread_tensors(const ModelDirectory& directory, const Config& config,
                                        const Weights& weights) {
  Names read;
  for (const TensorSpec& tensor : encoder_tensors(config)) read.insert(tensor.name);
  const Names beside = read_beside(directory, config);
  const auto prefixes = head_tensor_prefixes();
  std::vector<std::string> unread;
  for (const TensorView* tensor : weights.tensors()) {
    std::string name(without_head(weights.canonical(*tensor)));
    if (const auto parts = joined_parts(name); !parts.empty()) name = parts[0];
    const bool known = read.contains(name) || beside.contains(tensor->name) || is_buffer(name) ||
                       role_of(name) == Role::pooler || is_turn_tensor(config, name) ||
                       std::any_of(prefixes.begin(), prefixes.end(),
                                   [&](std::string_view head) { return name.starts_with(head); });
    if (!known) unread.push_back(tensor->name);
  }
  return unread;
}

std::vector<std::string> unknown_classes(const ModelDirectory& directory, const Config& config) {
  std::vector<std::string> unknown;
  for (const std::string& name : config.architectures) {
    if (is_known_class(name)) continue;
    if (name == "HF_ColBERT" && SentenceModules::open(directory).of_tokens) continue;
    if (name.ends_with("ForCausalLM") && SentenceModules::open(directory).logit_score) continue;
    unknown.push_back(name);
  }
  return unknown;
}

}  // namespace bert
