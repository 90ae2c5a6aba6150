#include "model/config_heads.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/config_keys.h"
#include "model/layers.h"

namespace bert {
namespace {

using namespace config_keys;

constexpr size_t kMaxLabels = 1u << 20;
constexpr size_t kMaxHeads = 1000;
constexpr size_t kMaxHops = 1000;
constexpr size_t kMaxPoolingSize = 1u << 16;

/// Names of the labels in the order of their ids. As in transformers, id2label counts them,
/// num_labels only where there is no id2label, and two are the default.
void read_labels(const Json& root, HeadConfig& config) {
  const auto map = find(root, {"id2label"});
  if (!map) {
    const auto number = root.find("num_labels");
    const size_t count = number ? size_of(*number, 1, kMaxLabels) : 2;
    for (size_t i = 0; i < count; ++i) config.labels.push_back(fmt::format("LABEL_{}", i));
    return;
  }
  const size_t count = map->size();
  if (count == 0 || count > kMaxLabels) refuse(*map, fmt::format("1 to {} labels", kMaxLabels));
  config.labels.resize(count);
  std::vector<bool> seen(count, false);
  map->for_each_member([&](std::string_view key, Json value) {
    size_t id = key.empty() || key.size() > 7 ? count : 0;
    for (const char c : key) id = c >= '0' && c <= '9' && id < count ? 10 * id + (c - '0') : count;
    if (id >= count || seen[id]) {
      throw Error(Error::Kind::unsupported, map->where(),
                  fmt::format("found the id \"{}\", wants each of 0 to {} once", printable(key),
                              count - 1));
    }
    seen[id] = true;
    std::string label = value.is_string() ? std::string(value.as_string()) : value.describe();
    if (label.find_first_of(std::string_view("\t\n\r\0", 4)) != std::string::npos) {
      refuse(value, "a name without tabs and line ends");
    }
    config.labels[id] = std::move(label);
  });
  config.labels_named = true;
}

/// A BiLSTM before the classifier of tokens; a model has `layers` of them.
void read_bilstm(const Json& root, size_t layers, HeadConfig& config) {
  constexpr size_t kMostUnits = 1 << 16, kMostLayers = 64, kMostRead = 1024;
  const auto value = find(root, {"bertutils_bilstm"});
  if (!value) return;
  if (!value->is_object()) refuse(*value, "an object");
  BilstmConfig& net = config.bilstm;
  net.layers = value->at("layers").as_string();
  net.hidden_size = size_of(value->at("hidden_size"), 1, kMostUnits);
  net.num_layers = size_of(value->at("num_layers"), 1, kMostLayers);
  try {
    const LayerExpression read = LayerExpression::parse(net.layers, layers);
    if (read.is_static() || read.layers.size() > kMostRead) throw Error::of_field("layers", "");
  } catch (const Error&) {
    refuse(value->at("layers"), fmt::format("layers from 0 to {}, as in concat:-4--1", layers));
  }
}

void read_problem_type(const Json& root, HeadConfig& config) {
  config.problem_type = text_at(root, {"problem_type"}, "");
  const std::string& type = config.problem_type;
  if (type.empty() || type == "regression" || type == "multi_label_classification") return;
  if (type != "single_label_classification") {
    refuse(root.at("problem_type"),
           "regression, single_label_classification or multi_label_classification");
  }
}

void read_null_threshold(const Json& root, HeadConfig& config) {
  const auto value = find(root, {"null_score_diff_threshold"});
  if (!value) return;
  const bool is_number =
      value->type() == Json::Type::integer || value->type() == Json::Type::number;
  if (!is_number) refuse(*value, "a number");
  config.null_score_diff_threshold = value->as_double();
}

void read_pooling(const Json& root, HeadConfig& config) {
  const auto pooling = find(root, {"bertutils_pooling"});
  if (!pooling) return;
  if (!pooling->is_object()) refuse(*pooling, "an object with hops and size");
  config.pooling.hops = size_of(pooling->at("hops"), 1, kMaxHops);
  config.pooling.size = size_of(pooling->at("size"), 1, kMaxPoolingSize);
  config.pooling.unit = flag_at(*pooling, "unit", false);
}

/// What a CrossEncoder of sentence-transformers puts the logits through: since version 4 under a
/// key of its own, before that under another.
void read_score_function(const Json& root, Config& config) {
  const auto own = find(root, {"sentence_transformers"});
  auto value = own && own->is_object() ? find(*own, {"activation_fn"}) : std::nullopt;
  if (!own || !own->find("activation_fn")) {
    value = find(root, {"sbert_ce_default_activation_function"});
  }
  if (value) config.score_function = value->as_string();
}

void read_named_heads(const Json& root, Config& config) {
  const auto map = find(root, {"bertutils_heads"});
  if (!map) return;
  if (!map->is_object() || map->size() > kMaxHeads) {
    refuse(*map, fmt::format("an object of at most {} heads", kMaxHeads));
  }
  map->for_each_member([&](std::string_view name, Json value) {
    if (!is_head_name(name)) {
      throw Error(Error::Kind::unsupported, map->where(),
                  fmt::format("found the name \"{}\", wants letters, digits, '-' and '_'",
                              printable(name)));
    }
    NamedHead head;
    head.name = name;
    head.task = value.at("task").as_string();
    head.preferred = flag_at(value, "default", false);
    head.architectures = architectures_of(value);
    read_labels(value, head);
    read_problem_type(value, head);
    read_null_threshold(value, head);
    read_pooling(value, head);
    read_bilstm(value, config.num_hidden_layers, head);
    config.heads.push_back(std::move(head));
  });
}

}  // namespace

std::vector<std::string> architectures_of(const Json& root) {
  std::vector<std::string> names;
  if (const auto value = find(root, {"architectures"})) {
    if (!value->is_array() || value->size() > 64) refuse(*value, "an array of at most 64 names");
    value->for_each_element([&](Json name) { names.emplace_back(name.as_string()); });
  }
  return names;
}

bool is_head_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

void read_heads(const Json& root, Config& config) {
  read_labels(root, config);
  read_problem_type(root, config);
  read_null_threshold(root, config);
  read_pooling(root, config);
  read_bilstm(root, config.num_hidden_layers, config);
  read_named_heads(root, config);
  read_score_function(root, config);
}

}  // namespace bert
