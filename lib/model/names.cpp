#include "model/names.h"

#include <span>
#include <utility>

namespace bert {
namespace {

constexpr std::string_view kHeads = "heads.";
constexpr std::string_view kLayer = "encoder.layer.";  // the canonical one

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

/// What a file calls `name`, a name behind a head_prefix, in canonical words.
std::string renamed(std::string_view name, std::string_view head, const NameRules& rules) {
  const Family& family = *rules.family;
  const std::string_view number = layer_number(name, family.layer_prefix);
  if (!number.empty()) {
    const std::string layer = std::string(kLayer).append(number);
    const std::string_view rest = name.substr(family.layer_prefix.size() + number.size());
    for (const Renaming& r : family.layer_names) {
      if (rest.starts_with(r.file)) return layer + replaced(rest, r.file, r.canonical);
    }
    return layer + std::string(rest);
  }
  for (const Renaming& r : family.names) {
    if (!name.starts_with(r.file)) continue;
    if (!r.beside.empty() && !rules.companions.contains(std::string(head).append(r.beside))) {
      continue;
    }
    return replaced(name, r.file, r.canonical);
  }
  return std::string(name);
}

}  // namespace

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
  if (const std::string_view prefix = rules.family->tensor_prefix; name.starts_with(prefix)) {
    name.remove_prefix(prefix.size());
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

std::string file_name(std::string_view name, const Family& family) {
  const std::string prefix(family.tensor_prefix);
  if (const std::string_view number = layer_number(name, kLayer); !number.empty()) {
    const std::string layer = (prefix + std::string(family.layer_prefix)).append(number);
    const std::string_view rest = name.substr(kLayer.size() + number.size());
    for (const Renaming& r : family.layer_names) {
      if (rest.starts_with(r.canonical)) return layer + replaced(rest, r.canonical, r.file);
    }
    return layer + std::string(rest);
  }
  for (const Renaming& r : family.names) {
    if (name.starts_with(r.canonical)) return replaced(name, r.canonical, r.file);
  }
  for (const std::string_view trunk : {"embeddings", "encoder.", "pooler."}) {
    if (name.starts_with(trunk)) return prefix + std::string(name);
  }
  return std::string(name);
}

}  // namespace bert
