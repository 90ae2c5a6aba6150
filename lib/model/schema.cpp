#include "model/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/safetensors.h"

namespace bert {
namespace {

/// Sizes that shapes are made of.
enum class Size : uint8_t { one, two, V, P, types, E, H, A, I, buckets, labels };

enum class Form : uint8_t {
  table,   ///< weight [out, in]
  linear,  ///< weight [out, in], bias [out]
  norm,    ///< weight [out], bias [out]
  bias,    ///< bias [out]
};

enum class Place : uint8_t { embeddings, layer, head };

struct Module {
  Role role;
  std::string_view name;  ///< behind encoder.layer.N. in layers
  Place place;
  Form form;
  Size out, in;
  bool quantized = false;
};

constexpr std::string_view kLayer = "encoder.layer.";

/// In the order of Role.
constexpr Module kModules[] = {
    {Role::word_embeddings, "embeddings.word_embeddings", Place::embeddings, Form::table, Size::V,
     Size::E, true},
    {Role::position_embeddings, "embeddings.position_embeddings", Place::embeddings, Form::table,
     Size::P, Size::E},
    {Role::token_type_embeddings, "embeddings.token_type_embeddings", Place::embeddings,
     Form::table, Size::types, Size::E},
    {Role::embedding_norm, "embeddings.LayerNorm", Place::embeddings, Form::norm, Size::E,
     Size::one},
    {Role::embedding_projection, "embeddings_project", Place::embeddings, Form::linear, Size::H,
     Size::E, true},
    {Role::relative_attention_bias, "encoder.relative_attention_bias", Place::embeddings,
     Form::table, Size::buckets, Size::A},
    {Role::query, "attention.self.query", Place::layer, Form::linear, Size::H, Size::H, true},
    {Role::key, "attention.self.key", Place::layer, Form::linear, Size::H, Size::H, true},
    {Role::value, "attention.self.value", Place::layer, Form::linear, Size::H, Size::H, true},
    {Role::attention_output, "attention.output.dense", Place::layer, Form::linear, Size::H, Size::H,
     true},
    {Role::attention_norm, "attention.output.LayerNorm", Place::layer, Form::norm, Size::H,
     Size::one},
    {Role::intermediate, "intermediate.dense", Place::layer, Form::linear, Size::I, Size::H, true},
    {Role::output, "output.dense", Place::layer, Form::linear, Size::H, Size::I, true},
    {Role::output_norm, "output.LayerNorm", Place::layer, Form::norm, Size::H, Size::one},
    {Role::pooler, "pooler.dense", Place::head, Form::linear, Size::H, Size::H},
    {Role::mlm_dense, "cls.predictions.transform.dense", Place::head, Form::linear, Size::E,
     Size::H, true},
    {Role::mlm_norm, "cls.predictions.transform.LayerNorm", Place::head, Form::norm, Size::E,
     Size::one},
    {Role::mlm_decoder, "cls.predictions.decoder", Place::head, Form::table, Size::V, Size::E,
     true},
    {Role::mlm_bias, "cls.predictions", Place::head, Form::bias, Size::V, Size::one},
    {Role::next_sentence, "cls.seq_relationship", Place::head, Form::linear, Size::two, Size::H},
    {Role::classifier_dense, "classifier.dense", Place::head, Form::linear, Size::H, Size::H},
    {Role::classifier_output, "classifier.out_proj", Place::head, Form::linear, Size::labels,
     Size::H},
    {Role::classifier, "classifier", Place::head, Form::linear, Size::labels, Size::H},
    {Role::qa_outputs, "qa_outputs", Place::head, Form::linear, Size::two, Size::H},
    {Role::discriminator_dense, "discriminator_predictions.dense", Place::head, Form::linear,
     Size::H, Size::H},
    {Role::discriminator, "discriminator_predictions.dense_prediction", Place::head, Form::linear,
     Size::one, Size::H}};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kModules); ++i) {
    if (kModules[i].role != static_cast<Role>(i)) return false;
  }
  return true;
}
static_assert(in_order());

const Module& module_of(Role role) { return kModules[static_cast<size_t>(role)]; }

size_t size_of(const Config& config, Size size) {
  switch (size) {
    case Size::one:
      return 1;
    case Size::two:
      return 2;
    case Size::V:
      return config.vocab_size;
    case Size::P:
      return config.max_position_embeddings;
    case Size::types:
      return config.type_vocab_size;
    case Size::E:
      return config.embedding_size;
    case Size::H:
      return config.hidden_size;
    case Size::A:
      return config.num_attention_heads;
    case Size::buckets:
      return config.relative_attention_num_buckets;
    case Size::I:
      return config.intermediate_size;
    case Size::labels:
      break;
  }
  return config.labels.size();
}

constexpr std::string_view kJoined = "attention.self.query_key_value.weight";
constexpr std::string_view kParts[] = {"attention.self.query.weight", "attention.self.key.weight",
                                       "attention.self.value.weight"};

std::string with_ending(std::string_view name, std::string_view old, std::string_view ending) {
  return std::string(name.substr(0, name.size() - old.size())).append(ending);
}

}  // namespace

uint64_t TensorSpec::count() const {
  uint64_t elements = 0;
  checked_elements(shape, elements);
  return elements;
}

std::string tensor_name(Role role, Part part, size_t layer) {
  const Module& module = module_of(role);
  const char* ending = part == Part::weight ? ".weight" : ".bias";
  if (module.place != Place::layer) return std::string(module.name) + ending;
  return fmt::format("{}{}.{}{}", kLayer, layer, module.name, ending);
}

std::string_view module_word(Role role) {
  const std::string_view name = module_of(role).name;
  return name.substr(name.rfind('.') + 1);
}

std::optional<Role> role_of(std::string_view name) {
  const bool in_layer = name.starts_with(kLayer);
  if (in_layer) name.remove_prefix(std::min(name.find('.', kLayer.size()), name.size() - 1) + 1);
  for (const std::string_view ending : {".weight", ".bias"}) {
    if (!name.ends_with(ending)) continue;
    const std::string_view wanted = name.substr(0, name.size() - ending.size());
    for (const Module& module : kModules) {
      if (module.name == wanted && (module.place == Place::layer) == in_layer) return module.role;
    }
  }
  return std::nullopt;
}

bool has_module(const Config& config, Role role) {
  switch (role) {
    case Role::token_type_embeddings:
      return config.type_vocab_size > 0;
    case Role::embedding_projection:
      return config.embedding_size != config.hidden_size;
    case Role::relative_attention_bias:
      return config.relative_attention_num_buckets > 0;
    case Role::pooler:
      return config.family->pooler;
    default:
      return true;
  }
}

TensorSpec tensor_spec(const Config& config, Role role, Part part, size_t layer) {
  const Module& module = module_of(role);
  TensorSpec spec;
  spec.name = tensor_name(role, part, layer);
  spec.shape = {size_of(config, module.out)};
  const bool is_matrix =
      part == Part::weight && (module.form == Form::table || module.form == Form::linear);
  if (is_matrix) spec.shape.push_back(size_of(config, module.in));
  spec.role = role;
  spec.part = part;
  const size_t depth = module.place == Place::embeddings ? 0
                       : module.place == Place::layer    ? layer + 1
                                                         : config.num_hidden_layers + 1;
  spec.depth = static_cast<int32_t>(depth);
  spec.initial = is_matrix ? Initial::drawn : part == Part::weight ? Initial::ones : Initial::zeros;
  spec.quantized = module.quantized && is_matrix;
  spec.joins = role == Role::key || role == Role::value;
  return spec;
}

std::vector<TensorSpec> module_tensors(const Config& config, Role role, size_t layer) {
  std::vector<TensorSpec> list;
  const Form form = module_of(role).form;
  if (form != Form::bias) list.push_back(tensor_spec(config, role, Part::weight, layer));
  if (form != Form::table) list.push_back(tensor_spec(config, role, Part::bias, layer));
  return list;
}

std::vector<TensorSpec> encoder_tensors(const Config& config) {
  std::vector<TensorSpec> list;
  const auto add_all = [&](Place place, size_t layer) {
    for (const Module& module : kModules) {
      if (module.place != place || !has_module(config, module.role)) continue;
      for (TensorSpec& spec : module_tensors(config, module.role, layer)) {
        list.push_back(std::move(spec));
      }
    }
  };
  add_all(Place::embeddings, 0);
  for (size_t i = 0; i < config.num_hidden_layers; ++i) add_all(Place::layer, i);
  if (!has_module(config, Role::pooler)) return list;
  for (TensorSpec& spec : module_tensors(config, Role::pooler)) {
    list.push_back(std::move(spec));
    list.back().required = false;
  }
  return list;
}

std::vector<TensorSpec> head_tensors(const Config& config, HeadKind kind) {
  const bool pooled = config.family->text_head == TextHead::pooled;
  const bool masked = kind == HeadKind::pretrain || kind == HeadKind::masked_lm;
  const bool next_sentence = kind == HeadKind::next_sentence ||
                             (kind == HeadKind::pretrain && config.family->next_sentence);
  std::vector<TensorSpec> list;
  const auto want = [&](Role role, bool required = true) {
    for (TensorSpec& spec : module_tensors(config, role)) {
      list.push_back(std::move(spec));
      list.back().required = required;
    }
  };
  if (next_sentence || (pooled && kind == HeadKind::classify)) want(Role::pooler);
  if (masked) {
    want(Role::mlm_dense);
    want(Role::mlm_norm);
    want(Role::mlm_decoder, !config.tie_word_embeddings);
    want(Role::mlm_bias);
  }
  if (next_sentence) want(Role::next_sentence);
  if (kind == HeadKind::classify && !pooled) want(Role::classifier_dense);
  if (kind == HeadKind::classify) want(pooled ? Role::classifier : Role::classifier_output);
  if (kind == HeadKind::tokens) want(Role::classifier);
  if (kind == HeadKind::spans) want(Role::qa_outputs);
  if (kind == HeadKind::discriminator) {
    want(Role::discriminator_dense);
    want(Role::discriminator);
  }
  return list;
}

uint64_t count_parameters(std::span<const TensorSpec> tensors) {
  uint64_t sum = 0;
  for (const TensorSpec& tensor : tensors) sum += tensor.count();
  return sum;
}

std::vector<std::string> joined_parts(std::string_view name) {
  std::vector<std::string> parts;
  if (!name.ends_with(kJoined)) return parts;
  for (const std::string_view part : kParts) parts.push_back(with_ending(name, kJoined, part));
  return parts;
}

std::string joined_whole(std::string_view name) {
  for (const std::string_view part : kParts) {
    if (name.ends_with(part)) return with_ending(name, part, kJoined);
  }
  return "";
}

bool is_encoder_tensor(std::string_view name) {
  return name.starts_with("embeddings") || name.starts_with("encoder.");
}

bool is_buffer(std::string_view name) {
  return name == "embeddings.position_ids" || name == "embeddings.token_type_ids";
}

}  // namespace bert
