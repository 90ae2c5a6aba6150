#include "model/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/safetensors.h"
#include "model/layers.h"
#include "model/recurrent_config.h"

namespace bert {
namespace {

/// Sizes that shapes are made of.
enum class Size : uint8_t {
  one,
  two,
  V,
  P,
  types,
  E,
  H,
  A,
  I,
  buckets,
  span,
  norm,
  labels,
  hops,
  pooling,
  hops_H,
  bilstm
};

enum class Form : uint8_t {
  table,   ///< weight [out, in]
  linear,  ///< weight [out, in], bias [out]
  norm,    ///< weight [out], bias [out]
  bias,    ///< bias [out]
  conv,    ///< weight [out, in / groups, K], bias [out]
};

enum class Place : uint8_t { embeddings, layer, last, head };

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
    {Role::embedding_norm, "embeddings.LayerNorm", Place::embeddings, Form::norm, Size::norm,
     Size::one},
    {Role::embedding_projection, "embeddings_project", Place::embeddings, Form::linear, Size::H,
     Size::E, true},
    {Role::relative_attention_bias, "encoder.relative_attention_bias", Place::embeddings,
     Form::table, Size::buckets, Size::A},
    {Role::relative_embeddings, "encoder.rel_embeddings", Place::embeddings, Form::table,
     Size::span, Size::H},
    {Role::relative_norm, "encoder.LayerNorm", Place::embeddings, Form::norm, Size::H, Size::one},
    {Role::convolution, "encoder.conv.conv", Place::embeddings, Form::conv, Size::H, Size::H},
    {Role::convolution_norm, "encoder.conv.LayerNorm", Place::embeddings, Form::norm, Size::H,
     Size::one},
    {Role::query, "attention.self.query", Place::layer, Form::linear, Size::H, Size::H, true},
    {Role::key, "attention.self.key", Place::layer, Form::linear, Size::H, Size::H, true},
    {Role::value, "attention.self.value", Place::layer, Form::linear, Size::H, Size::H, true},
    {Role::position_key, "attention.self.pos_key_proj", Place::layer, Form::linear, Size::H,
     Size::H, true},
    {Role::position_query, "attention.self.pos_query_proj", Place::layer, Form::linear, Size::H,
     Size::H, true},
    {Role::attention_output, "attention.output.dense", Place::layer, Form::linear, Size::H, Size::H,
     true},
    {Role::attention_norm, "attention.output.LayerNorm", Place::layer, Form::norm, Size::H,
     Size::one},
    {Role::cross_query, "crossattention.self.query", Place::layer, Form::linear, Size::H, Size::H,
     true},
    {Role::cross_key, "crossattention.self.key", Place::layer, Form::linear, Size::H, Size::H,
     true},
    {Role::cross_value, "crossattention.self.value", Place::layer, Form::linear, Size::H, Size::H,
     true},
    {Role::cross_output, "crossattention.output.dense", Place::layer, Form::linear, Size::H,
     Size::H, true},
    {Role::cross_norm, "crossattention.output.LayerNorm", Place::layer, Form::norm, Size::H,
     Size::one},
    {Role::intermediate, "intermediate.dense", Place::layer, Form::linear, Size::I, Size::H, true},
    {Role::up, "intermediate.up", Place::layer, Form::linear, Size::I, Size::H, true},
    {Role::output, "output.dense", Place::layer, Form::linear, Size::H, Size::I, true},
    {Role::output_norm, "output.LayerNorm", Place::layer, Form::norm, Size::H, Size::one},
    {Role::final_norm, "encoder.final_norm", Place::last, Form::norm, Size::H, Size::one},
    {Role::pooler, "pooler.dense", Place::head, Form::linear, Size::H, Size::H},
    {Role::mlm_dense, "cls.predictions.transform.dense", Place::head, Form::linear, Size::E,
     Size::H, true},
    {Role::mlm_norm, "cls.predictions.transform.LayerNorm", Place::head, Form::norm, Size::E,
     Size::one},
    {Role::mlm_decoder, "cls.predictions.decoder", Place::head, Form::table, Size::V, Size::E,
     true},
    {Role::mlm_bias, "cls.predictions", Place::head, Form::bias, Size::V, Size::one},
    {Role::next_sentence, "cls.seq_relationship", Place::head, Form::linear, Size::two, Size::H},
    {Role::head_dense, "classifier.transform.dense", Place::head, Form::linear, Size::H, Size::H},
    {Role::head_norm, "classifier.transform.LayerNorm", Place::head, Form::norm, Size::H,
     Size::one},
    {Role::classifier_dense, "classifier.dense", Place::head, Form::linear, Size::H, Size::H},
    {Role::classifier_output, "classifier.out_proj", Place::head, Form::linear, Size::labels,
     Size::H},
    {Role::classifier, "classifier", Place::head, Form::linear, Size::labels, Size::H},
    {Role::bilstm, "bilstm.lstm", Place::head, Form::linear, Size::two,
     Size::two},  // bilstm_tensors
    {Role::bilstm_classifier, "bilstm.classifier", Place::head, Form::linear, Size::labels,
     Size::bilstm},
    {Role::qa_outputs, "qa_outputs", Place::head, Form::linear, Size::two, Size::H},
    {Role::discriminator_dense, "discriminator_predictions.dense", Place::head, Form::linear,
     Size::H, Size::H},
    {Role::discriminator, "discriminator_predictions.dense_prediction", Place::head, Form::linear,
     Size::one, Size::H},
    {Role::pooling_hidden, "attentive_pooling.hidden", Place::head, Form::table, Size::pooling,
     Size::H},
    {Role::pooling_hops, "attentive_pooling.hops", Place::head, Form::table, Size::hops,
     Size::pooling},
    {Role::pooling_classifier, "attentive_pooling.classifier", Place::head, Form::linear,
     Size::labels, Size::hops_H}};

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
    case Size::span:
      return 2 * config.disentangled.span();
    case Size::norm:
      return config.family->projects_first ? config.hidden_size : config.embedding_size;
    case Size::I:
      return config.intermediate_size;
    case Size::hops:
      return config.pooling.hops;
    case Size::pooling:
      return config.pooling.size;
    case Size::hops_H:
      return config.pooling.hops * config.hidden_size;
    case Size::bilstm:
      return 2 * config.bilstm.hidden_size;
    case Size::labels:
      break;
  }
  return config.labels.size();
}

/// Tensors that are several modules', in the order of their rows.
struct Joined {
  std::string_view whole;
  std::array<std::string_view, 3> parts;
};
constexpr Joined kJoined[] = {
    {"attention.self.query_key_value.",
     {"attention.self.query.", "attention.self.key.", "attention.self.value."}},
    {"intermediate.gate_up.", {"intermediate.dense.", "intermediate.up."}},
    {"intermediate.up_gate.", {"intermediate.up.", "intermediate.dense."}}};
constexpr std::string_view kEndings[] = {"weight", "bias"};

/// `name`, which ends with `old` and `ending`, with `now` in its place; empty if it does not.
std::string with_ending(std::string_view name, std::string_view old, std::string_view ending,
                        std::string_view now) {
  if (!name.ends_with(ending)) return "";
  const std::string_view rest = name.substr(0, name.size() - ending.size());
  if (!rest.ends_with(old)) return "";
  return std::string(rest.substr(0, rest.size() - old.size())).append(now).append(ending);
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

bool has_module(const Config& config, Role role, size_t layer) {
  const Disentangled& d = config.disentangled;
  const bool relative = d.content_to_position || d.position_to_content;
  switch (role) {
    case Role::position_embeddings:
      return config.position_table;
    case Role::token_type_embeddings:
      return config.type_vocab_size > 0;
    case Role::embedding_norm:
      return config.family->embedding_norm;
    case Role::cross_query:
    case Role::cross_key:
    case Role::cross_value:
    case Role::cross_output:
    case Role::cross_norm:
      return config.family->cross_attention;
    case Role::embedding_projection:
      return config.family->projects_always || config.embedding_size != config.hidden_size;
    case Role::relative_attention_bias:
      return config.relative_attention_num_buckets > 0;
    case Role::relative_embeddings:
      return relative;
    case Role::relative_norm:
      return relative && d.norm;
    case Role::position_key:
      return d.content_to_position && !d.shared;
    case Role::position_query:
      return d.position_to_content && !d.shared;
    case Role::convolution:
    case Role::convolution_norm:
      return config.conv_kernel_size > 0;
    case Role::attention_norm:  // the embeddings' own stands before the first layer
      return config.family->norms == NormPlace::after || layer > 0;
    case Role::up:
      return config.family->gated;
    case Role::final_norm:
      return config.family->norms == NormPlace::before;
    case Role::pooler:
      return config.family->pooler;
    default:
      return true;
  }
}

bool has_part(const Config& config, Role role, Part part) {
  const Form form = module_of(role).form;
  if (part == Part::weight) return form != Form::bias;
  if (form == Form::table) return false;
  if (form == Form::norm) return config.norm_bias;
  switch (role) {
    case Role::embedding_projection:
      return !config.family->projects_first;
    case Role::query:
    case Role::key:
    case Role::value:
    case Role::attention_output:
      return config.attention_bias;
    case Role::intermediate:
    case Role::up:
      return config.intermediate_bias;
    case Role::output:
      return config.output_bias;
    case Role::mlm_dense:
    case Role::head_dense:
      return config.head_bias;
    case Role::mlm_bias:
      return config.decoder_bias;
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
  if (module.form == Form::conv && part == Part::weight) {
    spec.shape.push_back(config.hidden_size / config.conv_groups);
    spec.shape.push_back(config.conv_kernel_size);
  }
  spec.role = role;
  spec.part = part;
  const size_t depth = module.place == Place::embeddings ? 0
                       : module.place == Place::layer    ? layer + 1
                                                         : config.stored_layers() + 1;
  spec.depth = static_cast<int32_t>(depth);
  spec.initial = is_matrix ? Initial::drawn : part == Part::weight ? Initial::ones : Initial::zeros;
  spec.quantized = module.quantized && is_matrix;
  spec.joins = role == Role::key || role == Role::value || role == Role::up;
  return spec;
}

std::vector<TensorSpec> module_tensors(const Config& config, Role role, size_t layer) {
  std::vector<TensorSpec> list;
  for (const Part part : {Part::weight, Part::bias}) {
    if (has_part(config, role, part)) list.push_back(tensor_spec(config, role, part, layer));
  }
  return list;
}

std::vector<TensorSpec> encoder_tensors(const Config& config) {
  std::vector<TensorSpec> list;
  const auto add_all = [&](Place place, size_t layer) {
    for (const Module& module : kModules) {
      if (module.place != place || !has_module(config, module.role, layer)) continue;
      for (TensorSpec& spec : module_tensors(config, module.role, layer)) {
        list.push_back(std::move(spec));
      }
    }
  };
  add_all(Place::embeddings, 0);
  for (size_t i = 0; i < config.stored_layers(); ++i) add_all(Place::layer, i);
  add_all(Place::last, 0);
  if (!has_module(config, Role::pooler) || config.family->pooler_is_head) return list;
  for (TensorSpec& spec : module_tensors(config, Role::pooler)) {
    list.push_back(std::move(spec));
    list.back().required = false;
  }
  return list;
}

std::vector<TensorSpec> bilstm_tensors(const Config& config) {
  const BilstmConfig& net = config.bilstm;
  const size_t width = LayerExpression::parse(net.layers, config.num_hidden_layers).width(config);
  std::vector<TensorSpec> list;
  for (size_t layer = 0; layer < net.num_layers; ++layer) {
    for (const bool reverse : {false, true}) {
      add_cell_tensors(CellNames::of(module_of(Role::bilstm).name, layer, reverse), Cell::lstm,
                       layer == 0 ? width : 2 * net.hidden_size, net.hidden_size,
                       static_cast<int32_t>(config.stored_layers()) + 1, list);
    }
  }
  for (TensorSpec& spec : list) spec.role = Role::bilstm;
  return list;
}

std::vector<TensorSpec> head_tensors(const Config& config, HeadKind kind) {
  const bool pooled = config.family->text_head == TextHead::pooled;
  const bool masked = kind == HeadKind::pretrain || kind == HeadKind::masked_lm;
  const bool next_sentence = kind == HeadKind::next_sentence ||
                             (kind == HeadKind::pretrain && config.family->next_sentence);
  std::vector<TensorSpec> list;
  const bool transform = config.family->text_head == TextHead::transform;
  const auto want = [&](Role role, bool required = true) {
    for (TensorSpec& spec : module_tensors(config, role)) {
      list.push_back(std::move(spec));
      list.back().required = required;
    }
  };
  if (kind == HeadKind::classify && config.pooling.hops > 0) {
    want(Role::pooling_hidden);
    want(Role::pooling_hops);
    want(Role::pooling_classifier);
    return list;
  }
  if (next_sentence || (pooled && kind == HeadKind::classify)) want(Role::pooler);
  if (masked) {
    want(Role::mlm_dense);
    want(Role::mlm_norm);
    want(Role::mlm_decoder, !config.tie_word_embeddings);
    want(Role::mlm_bias);
  }
  if (next_sentence) want(Role::next_sentence);
  const bool labels =
      kind == HeadKind::classify || kind == HeadKind::tokens || kind == HeadKind::spans;
  const bool bilstm = kind == HeadKind::tokens && config.bilstm;
  if (transform && labels && !bilstm) {
    want(Role::head_dense);
    want(Role::head_norm);
  }
  if (kind == HeadKind::classify && (pooled || transform)) {
    want(Role::classifier);
  } else if (kind == HeadKind::classify) {
    want(Role::classifier_dense);
    want(Role::classifier_output);
  }
  if (bilstm) {
    list = bilstm_tensors(config);
    want(Role::bilstm_classifier);
  } else if (kind == HeadKind::tokens) {
    want(Role::classifier);
  }
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
  for (const Joined& joined : kJoined) {
    for (const std::string_view ending : kEndings) {
      for (const std::string_view part : joined.parts) {
        std::string found = part.empty() ? "" : with_ending(name, joined.whole, ending, part);
        if (!found.empty()) parts.push_back(std::move(found));
      }
    }
  }
  return parts;
}

std::vector<std::string> joined_wholes(std::string_view name) {
  std::vector<std::string> wholes;
  for (const Joined& joined : kJoined) {
    for (const std::string_view ending : kEndings) {
      for (const std::string_view part : joined.parts) {
        std::string whole = part.empty() ? "" : with_ending(name, part, ending, joined.whole);
        if (!whole.empty()) wholes.push_back(std::move(whole));
      }
    }
  }
  return wholes;
}

std::string joined_whole(std::string_view name, const Config& config) {
  const std::vector<std::string> wholes = joined_wholes(name);
  if (wholes.empty()) return "";
  const bool of_net = wholes.size() > 1;  // the orders of a gated net
  return of_net && !config.family->gated ? "" : wholes[0];
}

bool is_encoder_tensor(std::string_view name) {
  return name.starts_with("embeddings") || name.starts_with("encoder.");
}

bool is_buffer(std::string_view name) {
  return name == "embeddings.position_ids" || name == "embeddings.token_type_ids";
}

}  // namespace bert
