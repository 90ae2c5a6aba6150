#include "model/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "model/schema.h"

namespace bert {
namespace {

constexpr std::string_view kHeads = "heads.";
constexpr std::string_view kLayer = "encoder.layer.";  // the canonical one
constexpr size_t kMostLayers = 1000000;

/// The number of a layer with its dot, behind `prefix`; empty if the name is none of a layer.
std::string_view layer_number(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return {};
  const size_t end = name.find('.', prefix.size());
  return end == std::string_view::npos ? std::string_view()
                                       : name.substr(prefix.size(), end + 1 - prefix.size());
}

std::string replaced(std::string_view name, std::string_view from, std::string_view to) {
  return std::string(to).append(name.substr(from.size()));
}

/// A layer's place in a name of a file.
struct LayerPlace {
  size_t layer = 0;       ///< the canonical one
  std::string_view rest;  ///< the name behind the layer's number
};

std::optional<size_t> number_of(std::string_view text) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<LayerPlace> layer_place(std::string_view name, const NameRules& rules) {
  for (const std::string_view prefix : rules.family->layer_prefixes) {
    const std::string_view digits = prefix.empty() ? prefix : layer_number(name, prefix);
    if (digits.empty()) continue;
    const auto number = number_of(digits.substr(0, digits.size() - 1));
    if (!number || *number > kMostLayers) continue;
    LayerPlace place{*number, name.substr(prefix.size() + digits.size())};
    const std::string_view group = rules.family->in_group;
    if (group.empty()) return place;
    const std::string_view inner = layer_number(place.rest, group);
    const auto within = number_of(inner.substr(0, inner.empty() ? 0 : inner.size() - 1));
    // A name of our own files has one number, which is canonical.
    if (!within || *within >= rules.group_layers) continue;
    return LayerPlace{*number * rules.group_layers + *within,
                      place.rest.substr(group.size() + inner.size())};
  }
  return std::nullopt;
}

/// What a file calls `name`, a name behind a head_prefix, in canonical words.
std::string renamed(std::string_view name, std::string_view head, const NameRules& rules) {
  const Family& family = *rules.family;
  if (const auto place = layer_place(name, rules)) {
    const std::string layer = fmt::format("{}{}.", kLayer, place->layer);
    for (const auto names : {family.layer_names, family.other_layer_names}) {
      for (const Renaming& r : names) {
        if (!place->rest.starts_with(r.file)) continue;
        return layer + replaced(place->rest, r.file, r.canonical);
      }
    }
    return layer + std::string(place->rest);
  }
  for (const auto names : {family.names, family.other_names}) {
    for (const Renaming& r : names) {
      if (!name.starts_with(r.file) || !rules.class_name.ends_with(r.of_class)) continue;
      const bool holds =
          r.beside.empty() || rules.companions.contains(std::string(head).append(r.beside));
      if (holds) return replaced(name, r.file, r.canonical);
    }
  }
  return std::string(name);
}

/// The name of a layer's tensor, which is `rest` behind the number, in a file.
std::string layer_file_name(size_t layer, std::string_view rest, const Config& config) {
  const Family& family = *config.family;
  std::string name = fmt::format("{}{}.", family.layer_prefixes[0],
                                 family.in_group.empty() ? layer : layer / config.inner_group_num);
  if (!family.in_group.empty()) {
    name += fmt::format("{}{}.", family.in_group, layer % config.inner_group_num);
  }
  for (const Renaming& r : family.layer_names) {
    if (rest.starts_with(r.canonical)) {
      return name + replaced(rest, r.canonical, r.file);
    }
  }
  return name + std::string(rest);
}

}  // namespace

NameRules NameRules::of(const Config& config) {
  NameRules rules;
  rules.family = config.family;
  rules.group_layers = config.inner_group_num;
  if (!config.architectures.empty()) rules.class_name = config.architectures[0];
  return rules;
}

void NameRules::note(std::string_view name) {
  const std::string_view plain = without_head(name);
  for (const Renaming& r : family->names) {
    if (!r.beside.empty() && plain == r.beside) companions.emplace(name);
  }
}

std::string_view head_prefix(std::string_view name) {
  if (!name.starts_with(kHeads)) return {};
  return name.substr(0, name.find('.', kHeads.size()) + 1);
}

std::string_view head_name(std::string_view tensor_name) {
  const std::string_view prefix = head_prefix(tensor_name);
  return prefix.empty() ? prefix : prefix.substr(kHeads.size(), prefix.size() - kHeads.size() - 1);
}

std::string prefix_of_head(std::string_view head_name) {
  return std::string(kHeads).append(head_name).append(".");
}

std::string_view without_head(std::string_view name) {
  return name.substr(head_prefix(name).size());
}

std::string canonical_name(std::string_view name, const NameRules& rules) {
  const std::string_view head = head_prefix(name);
  name.remove_prefix(head.size());
  for (const std::string_view prefix : {rules.family->tensor_prefix, rules.family->older_prefix}) {
    if (prefix.empty() || !name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  std::string result = renamed(name, head, rules);
  // Checkpoints converted from TensorFlow keep its names.
  constexpr std::pair<std::string_view, std::string_view> kNorms[] = {{"LayerNorm.gamma", "weight"},
                                                                      {"LayerNorm.beta", "bias"}};
  for (const auto& [old, now] : kNorms) {
    if (!result.ends_with(old)) continue;
    result.resize(result.rfind('.') + 1);
    result += now;
  }
  return std::string(head) + result;
}

std::string file_name(std::string_view name, const Config& config) {
  const Family& family = *config.family;
  const bool pools = name.starts_with("pooler.") && !family.pooler_outside;
  const std::string prefix(is_encoder_tensor(name) || pools ? family.tensor_prefix : "");
  if (const std::string_view digits = layer_number(name, kLayer); !digits.empty()) {
    const std::string_view rest = name.substr(kLayer.size() + digits.size());
    const auto layer = number_of(digits.substr(0, digits.size() - 1));
    if (layer) return prefix + layer_file_name(*layer, rest, config);
  }
  for (const Renaming& r : family.names) {
    if (name.starts_with(r.canonical)) {
      return prefix + replaced(name, r.canonical, r.file);
    }
  }
  return prefix + std::string(name);
}

namespace {

/// The canonical name of what the family's files have as one with the tensor `name`; else empty.
std::string joined_in_files(std::string_view name, const Config& config) {
  const auto named = [&](std::string_view canonical) {
    return std::any_of(
        config.family->layer_names.begin(), config.family->layer_names.end(),
        [&](const Renaming& r) { return canonical.find(r.canonical) != std::string_view::npos; });
  };
  for (const std::string& whole : joined_wholes(name)) {
    if (named(whole) && !named(name)) return whole;
  }
  return "";
}

}  // namespace

std::string joined_file_name(std::string_view name, const Config& config) {
  const std::string whole = joined_in_files(name, config);
  return whole.empty() ? "" : file_name(whole, config);
}

std::string by_heads_file_name(std::string_view name, const Config& config) {
  for (const Renaming& r : config.family->layer_names) {
    if (!is_joined_by_heads(r.canonical) || !name.starts_with(kLayer)) continue;
    for (const Role role : kQueryKeyValue) {
      const std::string module = std::string(module_name(role)).append(".weight");
      if (!name.ends_with(module)) continue;
      const std::string_view layer = name.substr(0, name.size() - module.size());
      return file_name(std::string(layer).append(r.canonical).append("weight"), config);
    }
  }
  return "";
}

std::vector<std::string> joined_file_parts(std::string_view name, const Config& config) {
  return joined_parts(joined_in_files(name, config));
}

}  // namespace bert
