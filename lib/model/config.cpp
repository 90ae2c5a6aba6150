#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/json.h"
#include "model/config_heads.h"
#include "model/config_keys.h"
#include "model/config_positions.h"

namespace bert {
namespace {

using namespace config_keys;

float epsilon_at(const Json& root, const Family& family) {
  const auto value = find_any(root, family.layer_norm_eps_keys);
  if (!value) return static_cast<float>(family.layer_norm_eps);
  const bool is_number =
      value->type() == Json::Type::integer || value->type() == Json::Type::number;
  const float epsilon = is_number ? static_cast<float>(value->as_double()) : 0;
  if (!(epsilon > 0 && epsilon < 1)) refuse(*value, "a number above 0 and below 1");
  return epsilon;
}

/// `name` is what the file says, or else what is so without a key. A gated net may be called by its
/// gate.
Activation activation_of(const std::optional<Json>& value, std::string& name, bool gated) {
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
  if (value && !value->is_string()) refuse(*value, "a string");
  if (value) name = value->as_string();
  if (gated && name == "swiglu") return Activation::silu;
  if (gated && name == "geglu") return Activation::gelu;
  for (const auto& [known, activation] : kNames) {
    if (known == name) return activation;
  }
  refuse(*value,
         "a known activation: gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, quick_gelu, "
         "relu, silu, swish, tanh, sigmoid or linear");
}

/// What models are called whose model_type does not say it.
constexpr std::pair<std::string_view, std::string_view> kOtherModels[] = {{"extractor", "GLiNER2"}};

std::string name_of_type(const Json& model_type) {
  std::string name = model_type.describe();
  for (const auto& [type, known] : kOtherModels) {
    if (type == model_type.as_string()) name += fmt::format(" ({})", known);
  }
  return name;
}

/// By the file's model_type; older files have none and are told by their architecture or their
/// keys.
const Family& family_of(const Json& root, const std::vector<std::string>& architectures) {
  if (const auto value = find(root, {"model_type"})) {
    if (!value->is_string()) refuse(*value, "a string");
    if (const Family* family = find_family(value->as_string())) return *family;
    throw Error(Error::Kind::unsupported, value->where(),
                fmt::format("{} is not supported, wants {}", name_of_type(*value), family_list()));
  }
  for (const std::string& name : architectures) {
    if (const Family* family = family_of_class(name)) return *family;
  }
  if (!architectures.empty()) {
    throw Error(Error::Kind::unsupported, root.where(),
                fmt::format("no model_type, and the architecture {} is of none of {}",
                            printable(architectures[0]), family_list()));
  }
  // BERT's keys, which others may have too, count last.
  for (size_t i = families().size(); i-- > 0;) {
    const Family& family = families()[i];
    const auto& keys = family.telling_keys;
    if (!keys[0].empty() && root.find(keys[0]) && root.find(keys[1])) return family;
  }
  throw Error(
      Error::Kind::unsupported, root.where(),
      fmt::format("no model_type, wants {} (is this a model's config.json?)", family_list()));
}

/// Whether a key has the value that all models of a family have.
bool is_fixed(const Json& value, std::string_view wanted) {
  switch (value.type()) {
    case Json::Type::boolean:
      return value.as_bool() == (wanted == "true") && (wanted == "true" || wanted == "false");
    case Json::Type::integer:
    case Json::Type::number:
      return fmt::format("{}", value.as_double()) == wanted;
    case Json::Type::string:
      return value.as_string() == wanted;
    default:
      return false;
  }
}

/// What would make another model of the same tensors, or none that we know.
void refuse_variants(const Json& root, const Family& family) {
  for (const FixedKey& key : family.fixed) {
    const auto value = find(root, {key.name});
    if (value && !is_fixed(*value, key.value)) {
      refuse(*value, fmt::format("{}: {}", key.value, key.why));
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

void require_multiple(const Config& config, size_t Config::*size, size_t Config::*factor) {
  if (config.*size % config.*factor == 0) return;
  config.require_sizes();
  throw Error(Error::Kind::unsupported, config.path,
              fmt::format("{} {}, wants a multiple of {} {}", config.family->key_of(size),
                          config.*size, config.family->key_of(factor), config.*factor));
}

void read_sizes(const Json& root, Config& config) {
  for (const SizeKey& size : config.family->sizes) {
    std::optional<Json> value;
    for (const std::string_view name : size.names) {
      if (!value && !name.empty()) value = size.may_be_null ? find(root, {name}) : root.find(name);
    }
    if (!value && size.decides) config.missing_sizes.emplace_back(size.names[0]);
    config.*size.field = value ? size_of(*value, size.least, size.most) : size.absent;
  }
  for (const FlagKey& flag : config.family->flags) {
    config.*flag.field = flag.name.empty() ? flag.absent : flag_at(root, flag.name, flag.absent);
  }
  if (config.embedding_size == 0) config.embedding_size = config.hidden_size;
  if (config.output_embedding_size == 0) {
    config.output_embedding_size =
        config.family->splits_decoder ? config.hidden_size : config.embedding_size;
  }
  if (config.num_key_value_heads == 0) config.num_key_value_heads = config.num_attention_heads;
  if (config.family->scales_embeddings) {
    config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)));
  }
  if (config.head_width == 0) {
    const bool narrow = config.bottleneck_size > 0;
    require_multiple(config, narrow ? &Config::bottleneck_size : &Config::hidden_size,
                     &Config::num_attention_heads);
  }
  require_multiple(config, &Config::num_attention_heads, &Config::num_key_value_heads);
}

void read_activations(const Json& root, Config& config) {
  const Family& family = *config.family;
  config.hidden_act_name = family.activation;
  config.hidden_act =
      activation_of(find_any(root, family.activation_keys), config.hidden_act_name, family.gated);
  const auto read = [&](std::string_view key, std::string name) {
    return activation_of(find(root, {key}), name, false);
  };
  if (!family.pooler_act_key.empty()) config.pooler_act = read(family.pooler_act_key, "gelu");
  if (config.conv_kernel_size > 0) config.conv_act = read("conv_act", "tanh");
  if (family.text_head == TextHead::transform)
    config.head_act = read("classifier_activation", "gelu");
}

void read_text_input(const Json& root, Config& config) {
  const auto inputs = config.family->text_inputs;
  if (inputs.empty()) return;
  config.text_input = inputs[0].input;
  if (inputs[0].name.empty()) return;
  const std::string pooling = text_at(root, {"classifier_pooling"}, inputs[0].name);
  std::string wanted;
  for (const TextInputName& input : inputs) {
    config.text_input = input.input;
    if (input.name == pooling) return;
    wanted.append(wanted.empty()             ? ""
                  : &input == &inputs.back() ? " or "
                                             : ", ")
        .append(input.name);
  }
  refuse(root.at("classifier_pooling"), wanted);
}

void read_padding(const Json& root, Config& config) {
  config.pad_token_id = config.family->pad_token_id;
  const auto pad = find(root, {"pad_token_id"});
  if (!pad) return;
  const auto id = pad->try_int();
  const int64_t least = config.family->first_behind_padding ? 0 : INT32_MIN;
  if (!id || *id < least || *id > INT32_MAX) refuse(*pad, "an id of 32 bits");
  config.pad_token_id = static_cast<int32_t>(*id);
}

/// Which token is dropped, in models that know masks as dropped tokens.
void read_mask(const Json& root, Config& config) {
  if (!config.token_dropout) return;
  const Json mask = root.at("mask_token_id");
  config.mask_token_id = static_cast<int32_t>(size_of(mask, 0, config.vocab_size - 1));
}

void refuse_classes(const Config& config) {
  const std::string_view refused = config.family->refused_class;
  for (const std::string& name : config.architectures) {
    if (refused.empty() || name != refused) continue;
    throw Error(Error::Kind::unsupported, config.path,
                fmt::format("the architecture {} is not supported", refused));
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

void read_training(const Json& root, Config& config) {
  const auto read = [&](std::string_view key, double absent) {
    return training_number(root, key, absent);
  };
  const Family& family = *config.family;
  config.initializer_range = read("initializer_range", 0.02);
  config.hidden_dropout_prob = read(family.hidden_dropout_key, family.hidden_dropout);
  config.attention_probs_dropout_prob =
      read(family.attention_dropout_key, family.attention_dropout);
  config.classifier_dropout = read(family.classifier_dropout_key,
                                   family.classifier_dropout.value_or(config.hidden_dropout_prob));
  const std::string_view answers = family.answers_dropout_key;
  config.answers_dropout = answers.empty() ? 0 : read(answers, family.hidden_dropout);
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

Config Config::parse(std::string_view json, const std::string& path) {
  return read(JsonDocument::parse(json, path).root(), path);
}

Config Config::read(const Json& root, const std::string& path) {
  return read(root, path, family_of(root, architectures_of(root)));
}

Config Config::read(const Json& root, const std::string& path, const Family& family) {
  Config config;
  config.path = path;
  config.architectures = architectures_of(root);
  config.family = &family;
  refuse_variants(root, family);
  refuse_classes(config);
  read_sizes(root, config);
  config.layer_norm_eps = epsilon_at(root, family);
  read_training(root, config);
  read_activations(root, config);
  read_text_input(root, config);
  config.tie_word_embeddings = flag_at(root, "tie_word_embeddings", family.ties_words);
  read_padding(root, config);
  read_mask(root, config);
  read_positions(root, config);
  read_heads(root, config);
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
