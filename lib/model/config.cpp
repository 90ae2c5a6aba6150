#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/json.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

constexpr size_t kMaxLabels = 1u << 20;
constexpr size_t kMaxHeads = 1000;

[[noreturn]] void refuse(const Json& value, std::string_view wanted) {
  throw Error(Error::Kind::unsupported, value.where(),
              fmt::format("found {}, wants {}", value.describe(), wanted));
}

/// The first of `keys` that the file has and that is not null.
std::optional<Json> find(const Json& root, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const auto value = root.find(key); value && !value->is_null()) return value;
  }
  return std::nullopt;
}

/// A size, by any of its names; `absent` if the file has none (null is refused: it has no meaning
/// here).
size_t size_at(const Json& root, std::initializer_list<std::string_view> keys, size_t absent,
               size_t limit, size_t least = 1) {
  for (const std::string_view key : keys) {
    const auto value = root.find(key);
    if (!value) continue;
    const auto number = value->type() == Json::Type::integer ? value->try_int() : std::nullopt;
    if (!number || *number < static_cast<int64_t>(least) ||
        static_cast<uint64_t>(*number) > limit) {
      refuse(*value, fmt::format("a whole number from {} to {}", least, limit));
    }
    return static_cast<size_t>(*number);
  }
  return absent;
}

bool flag_at(const Json& root, std::string_view key, bool absent) {
  const auto value = find(root, {key});
  if (!value) return absent;
  if (value->type() != Json::Type::boolean) refuse(*value, "true or false");
  return value->as_bool();
}

std::string text_at(const Json& root, std::initializer_list<std::string_view> keys,
                    std::string_view absent) {
  const auto value = find(root, keys);
  if (!value) return std::string(absent);
  if (!value->is_string()) refuse(*value, "a string");
  return std::string(value->as_string());
}

float epsilon_at(const Json& root) {
  const auto value = find(root, {"layer_norm_eps"});
  if (!value) return 1e-12f;
  const bool is_number =
      value->type() == Json::Type::integer || value->type() == Json::Type::number;
  const float epsilon = is_number ? static_cast<float>(value->as_double()) : 0;
  if (!(epsilon > 0 && epsilon < 1)) refuse(*value, "a number above 0 and below 1");
  return epsilon;
}

Activation activation_at(const Json& root, std::string_view key, std::string& name) {
  // transformers 5, activations.py: the names that are one of ours, the erf and the tanh form told
  // apart.
  constexpr std::pair<std::string_view, Activation> kNames[] = {
      {"gelu", Activation::gelu},
      {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"gelu_accurate", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_python_tanh", Activation::gelu_tanh},
      {"quick_gelu", Activation::gelu_quick},
      {"relu", Activation::relu},
      {"silu", Activation::silu},
      {"swish", Activation::silu},
      {"tanh", Activation::tanh},
      {"sigmoid", Activation::sigmoid},
      {"linear", Activation::none}};
  name = text_at(root, {key}, "gelu");
  for (const auto& [known, activation] : kNames) {
    if (known == name) return activation;
  }
  refuse(root.at(key),
         "a known activation: gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, quick_gelu, "
         "relu, silu, swish, tanh, sigmoid or linear");
}

/// The file's model_type; older files have none and are told by their architecture or their keys.
std::string model_type_of(const Json& root, const std::vector<std::string>& architectures) {
  if (const auto value = find(root, {"model_type"})) {
    if (!value->is_string()) refuse(*value, "a string");
    const std::string_view type = value->as_string();
    if (type != "bert" && type != "distilbert" && type != "electra") {
      throw Error(
          Error::Kind::unsupported, value->where(),
          fmt::format("{} is not supported, wants bert, distilbert or electra", value->describe()));
    }
    return std::string(type);
  }
  for (const std::string& name : architectures) {
    if (name.starts_with("DistilBert")) return "distilbert";
    if (name.starts_with("Electra")) return "electra";
    if (name.starts_with("Bert")) return "bert";
  }
  if (root.find("n_heads") && root.find("dim")) return "distilbert";
  if (root.find("num_attention_heads") && root.find("hidden_size")) return "bert";
  throw Error(Error::Kind::unsupported, root.where(),
              "no model_type, wants bert, distilbert or electra (is this a model's config.json?)");
}

/// What would make another model of the same tensors, or none that we know.
void refuse_variants(const Json& root) {
  for (const std::string_view key : {"is_decoder", "add_cross_attention"}) {
    if (flag_at(root, key, false)) refuse(root.at(key), "false: decoders are not supported");
  }
  if (const auto value = find(root, {"position_embedding_type"})) {
    if (!value->is_string() || value->as_string() != "absolute") {
      refuse(*value, "\"absolute\": relative positions are not supported");
    }
  }
  const auto value = find(root, {"quantization_config"});
  const auto method = value && value->is_object() ? value->find("quant_method") : std::nullopt;
  const bool ours = method && method->is_string() && method->as_string() == "bertutils";
  if (value && !ours) {
    throw Error(Error::Kind::unsupported, value->where(),
                "weights that others quantized are not supported");
  }
}

std::vector<std::string> architectures_of(const Json& root) {
  std::vector<std::string> names;
  if (const auto value = find(root, {"architectures"})) {
    if (!value->is_array() || value->size() > 64) refuse(*value, "an array of at most 64 names");
    value->for_each_element([&](Json name) { names.emplace_back(name.as_string()); });
  }
  return names;
}

/// Names of the labels in the order of their ids. As in transformers, id2label counts them,
/// num_labels only where there is no id2label, and two are the default.
void read_labels(const Json& root, HeadConfig& config) {
  const auto map = find(root, {"id2label"});
  if (!map) {
    const size_t count = size_at(root, {"num_labels"}, 2, kMaxLabels);
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

void read_problem_type(const Json& root, HeadConfig& config) {
  config.problem_type = text_at(root, {"problem_type"}, "");
  const std::string& type = config.problem_type;
  if (type.empty() || type == "regression" || type == "multi_label_classification") return;
  if (type != "single_label_classification") {
    refuse(root.at("problem_type"),
           "regression, single_label_classification or multi_label_classification");
  }
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

/// Since version 5.4 it stands beside config.json, and prevails.
void read_score_file(const std::string& directory, Config& config) {
  const std::string path = directory + "/config_sentence_transformers.json";
  if (!file_exists(path)) return;
  const JsonDocument document = JsonDocument::open(path);
  if (const auto value = find(document.root(), {"activation_fn"})) {
    config.score_function = value->as_string();
  }
}

void read_heads(const Json& root, Config& config) {
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
    head.architectures = architectures_of(value);
    read_labels(value, head);
    read_problem_type(value, head);
    config.heads.push_back(std::move(head));
  });
}

void read_sizes(const Json& root, Config& config) {
  const bool electra = config.model_type == "electra", distil = config.model_type == "distilbert";
  constexpr size_t kMaxWidth = 1u << 20, kMaxRows = 1u << 27, kMaxLayers = 1000;
  const auto size = [&](std::initializer_list<std::string_view> keys, size_t absent, size_t limit,
                        size_t least = 1) {
    if (std::none_of(keys.begin(), keys.end(), [&](auto key) { return root.find(key); })) {
      config.missing_sizes.emplace_back(*keys.begin());
    }
    return size_at(root, keys, absent, limit, least);
  };
  config.vocab_size = size({"vocab_size"}, 30522, kMaxRows);
  config.max_position_embeddings = size({"max_position_embeddings"}, 512, kMaxRows);
  if (distil) {
    config.hidden_size = size({"dim", "hidden_size"}, 768, kMaxWidth);
    config.num_hidden_layers = size({"n_layers", "num_hidden_layers"}, 6, kMaxLayers, 0);
    config.num_attention_heads = size({"n_heads", "num_attention_heads"}, 12, kMaxWidth);
    config.intermediate_size = size({"hidden_dim"}, 3072, kMaxWidth);
  } else {
    config.hidden_size = size({"hidden_size"}, electra ? 256 : 768, kMaxWidth);
    config.num_hidden_layers = size({"num_hidden_layers"}, 12, kMaxLayers, 0);
    config.num_attention_heads = size({"num_attention_heads"}, electra ? 4 : 12, kMaxWidth);
    config.intermediate_size = size({"intermediate_size"}, electra ? 1024 : 3072, kMaxWidth);
    config.type_vocab_size = size_at(root, {"type_vocab_size"}, 2, kMaxRows);
    config.layer_norm_eps = epsilon_at(root);
  }
  config.embedding_size = electra ? size({"embedding_size"}, 128, kMaxWidth) : config.hidden_size;
  if (config.hidden_size % config.num_attention_heads != 0) {
    config.require_sizes();
    throw Error(Error::Kind::unsupported, config.path,
                fmt::format("{} {}, wants a multiple of {} {}", distil ? "dim" : "hidden_size",
                            config.hidden_size, distil ? "n_heads" : "num_attention_heads",
                            config.num_attention_heads));
  }
}

/// A number that only training uses: what is none there stops no other tool.
double training_number(const Json& root, std::string_view key, double absent) {
  const auto value = find(root, {key});
  if (!value) return absent;
  const bool is_number =
      value->type() == Json::Type::integer || value->type() == Json::Type::number;
  return is_number ? value->as_double() : std::numeric_limits<double>::quiet_NaN();
}

void read_training(const Json& root, bool distil, Config& config) {
  const auto read = [&](std::string_view key, double absent) {
    return training_number(root, key, absent);
  };
  config.initializer_range = read("initializer_range", 0.02);
  config.hidden_dropout_prob = read(distil ? "dropout" : "hidden_dropout_prob", 0.1);
  config.attention_probs_dropout_prob =
      read(distil ? "attention_dropout" : "attention_probs_dropout_prob", 0.1);
  config.classifier_dropout = distil ? read("seq_classif_dropout", 0.2)
                                     : read("classifier_dropout", config.hidden_dropout_prob);
}

}  // namespace

std::optional<Activation> torch_activation(std::string_view name) {
  constexpr std::pair<std::string_view, Activation> kNames[] = {
      {"Identity", Activation::none}, {"Tanh", Activation::tanh}, {"ReLU", Activation::relu},
      {"GELU", Activation::gelu},     {"SiLU", Activation::silu}, {"Sigmoid", Activation::sigmoid}};
  for (const auto& [known, activation] : kNames) {
    const std::string_view file = known == "Identity" ? "linear" : "activation";
    if (name == fmt::format("torch.nn.{}", known) ||
        name == fmt::format("torch.nn.modules.{}.{}", file, known)) {
      return activation;
    }
  }
  return std::nullopt;
}

bool is_head_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

Config Config::open(const std::string& directory) {
  const std::string path = directory + "/config.json";
  Config config = parse(MappedFile::open(path, 16u << 20).text(), path);
  read_score_file(directory, config);
  return config;
}

Config Config::parse(std::string_view json, const std::string& path) {
  Config config;
  config.path = path;
  const JsonDocument document = JsonDocument::parse(json, path);
  const Json root = document.root();
  config.architectures = architectures_of(root);
  config.model_type = model_type_of(root, config.architectures);
  refuse_variants(root);
  read_sizes(root, config);
  read_training(root, config.model_type == "distilbert", config);
  const bool distil = config.model_type == "distilbert";
  config.hidden_act =
      activation_at(root, distil ? "activation" : "hidden_act", config.hidden_act_name);
  config.classifier_act = distil                           ? Activation::relu
                          : config.model_type == "electra" ? Activation::gelu
                                                           : Activation::none;
  config.tie_word_embeddings = flag_at(root, "tie_word_embeddings", true);
  if (const auto pad = find(root, {"pad_token_id"})) {
    const auto id = pad->try_int();
    if (!id || *id < INT32_MIN || *id > INT32_MAX) refuse(*pad, "an id of 32 bits");
    config.pad_token_id = static_cast<int32_t>(*id);
  }
  read_labels(root, config);
  read_problem_type(root, config);
  read_heads(root, config);
  read_score_function(root, config);
  return config;
}

void Config::require_sizes() const {
  if (missing_sizes.empty()) return;
  throw Error(
      Error::Kind::data, path,
      fmt::format("has no {}, wants all sizes of the model", fmt::join(missing_sizes, ", ")));
}

const NamedHead* Config::find_head(std::string_view name) const {
  const auto found = std::find_if(heads.begin(), heads.end(),
                                  [&](const NamedHead& head) { return head.name == name; });
  return found == heads.end() ? nullptr : &*found;
}

}  // namespace bert
