#include "model/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/safetensors.h"
#include "model/modules.h"

namespace bert {
namespace {

const Module& module_of(Role role) { return kModules[static_cast<size_t>(role)]; }

/// Sizes that config.json names.
constexpr std::pair<Size, size_t Config::*> kNamed[] = {
    {Size::V, &Config::vocab_size},
    {Size::P, &Config::max_position_embeddings},
    {Size::types, &Config::type_vocab_size},
    {Size::tasks, &Config::task_type_vocab_size},
    {Size::E, &Config::embedding_size},
    {Size::out_E, &Config::output_embedding_size},
    {Size::H, &Config::hidden_size},
    {Size::A, &Config::num_attention_heads},
    {Size::I, &Config::intermediate_size},
    {Size::buckets, &Config::relative_attention_num_buckets}};

/// The widths around the word table.
size_t width_of(const Config& config, Size size) {
  const Family& family = *config.family;
  const size_t H = config.hidden_size, E = config.embedding_size;
  switch (size) {
    case Size::words:
      return (family.trigrams ? 3 : 1) * E;
    case Size::places:
      return family.trigrams ? H : E;
    case Size::norm:
      return family.projects_first || family.trigrams ? H : E;
    case Size::decoded:
      return family.splits_decoder ? E : config.output_embedding_size;
    case Size::rest:
      return H - E;
    default:
      return 0;
  }
}

size_t size_of(const Config& config, Size size) {
  if (const size_t width = width_of(config, size); width > 0) return width;
  for (const auto& [named, field] : kNamed) {
    if (named == size) return config.*field;
  }
  switch (size) {
    case Size::one:
      return 1;
    case Size::two:
      return 2;
    case Size::B:
      return config.layer_width();
    case Size::D:
      return config.head_size();
    case Size::AD:
      return config.num_attention_heads * config.head_size();
    case Size::KD:
      return config.num_key_value_heads * config.head_size();
    case Size::span:
      return 2 * config.disentangled.span();
    case Size::hops:
      return config.pooling.hops;
    case Size::pooling:
      return config.pooling.size;
    case Size::hops_H:
      return config.pooling.hops * config.hidden_size;
    case Size::bilstm:
      return 2 * config.bilstm.hidden_size;
    default:
      return config.labels.size();
  }
}

constexpr std::string_view kAllThree = "attention.self.query_key_value.";
constexpr std::string_view kTwo = "attention.self.query_key.";  // where values read something else
constexpr std::string_view kNet = "intermediate.gate_up.";
constexpr std::string_view kCrossPair = "crossattention.self.key_value.";
/// Queries, keys and values of a head, then those of the next one. Files alone have it.
constexpr std::string_view kByHeads = "attention.self.heads_query_key_value.";

/// Tensors that are several modules', in the order of their rows.
struct Joined {
  std::string_view whole;
  std::array<std::string_view, 3> parts;
};
constexpr Joined kJoined[] = {
    {kAllThree, {"attention.self.query.", "attention.self.key.", "attention.self.value."}},
    {kByHeads, {"attention.self.query.", "attention.self.key.", "attention.self.value."}},
    {kCrossPair, {"crossattention.self.key.", "crossattention.self.value."}},
    {kTwo, {"attention.self.query.", "attention.self.key."}},
    {kNet, {"intermediate.dense.", "intermediate.up."}},
    {"intermediate.up_gate.", {"intermediate.up.", "intermediate.dense."}}};
constexpr std::string_view kEndings[] = {"weight", "bias"};

/// `name`, which ends with `old` and `ending`, with `now` in its place; empty if it does not.
std::string with_ending(std::string_view name, std::string_view old, std::string_view ending,
                        std::string_view now) {
  if (!name.ends_with(ending)) return "";
  const std::string_view rest = name.substr(0, name.size() - ending.size());
  if (!rest.ends_with(old)) return "";
  const size_t before = rest.size() - old.size();
  if (before > 0 && rest[before - 1] != '.') return "";  // crossattention's are no attention's
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

std::string_view module_name(Role role) { return module_of(role).name; }

std::string_view module_word(Role role) {
  const std::string_view name = module_name(role);
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

/// Modules of disentangled attention.
static bool has_relative(const Disentangled& d, Role role) {
  if (role == Role::position_key) return d.content_to_position && !d.shared;
  if (role == Role::position_query) return d.position_to_content && !d.shared;
  const bool relative = d.content_to_position || d.position_to_content;
  return relative && (role == Role::relative_embeddings || d.norm);
}

static bool has_bottleneck(const Config& c) { return c.bottleneck_size > 0; }
/// Whether there are so many feed-forward nets in a layer, or more.
template <size_t N>
static bool has_nets(const Config& c) {
  return c.feed_forward_nets >= N;
}

/// The modules that not every model has.
struct Conditional {
  Role role;
  bool (*there)(const Config&);
};
constexpr Conditional kConditional[] = {
    {Role::position_embeddings, [](const Config& c) { return c.position_table; }},
    {Role::token_type_embeddings, [](const Config& c) { return c.type_vocab_size > 0; }},
    {Role::task_type_embeddings, [](const Config& c) { return c.task_types; }},
    {Role::embedding_norm,
     [](const Config& c) { return c.family->embedding_norm && c.embedding_norm; }},
    {Role::embedding_projection,
     [](const Config& c) {
       return c.family->projects_always || c.embedding_size != c.hidden_size;
     }},
    {Role::relative_attention_bias,
     [](const Config& c) {
       return c.relative_attention_num_buckets > 0 && c.family->distance_bias == BiasPlace::model;
     }},
    {Role::convolution, [](const Config& c) { return c.conv_kernel_size > 0; }},
    {Role::convolution_norm, [](const Config& c) { return c.conv_kernel_size > 0; }},
    {Role::bottleneck, has_bottleneck},
    {Role::bottleneck_norm, has_bottleneck},
    {Role::shared_bottleneck, has_bottleneck},
    {Role::shared_bottleneck_norm, has_bottleneck},
    {Role::bottleneck_exit, has_bottleneck},
    {Role::bottleneck_exit_norm, has_bottleneck},
    {Role::first_intermediate, has_nets<2>},
    {Role::first_output, has_nets<2>},
    {Role::first_output_norm, has_nets<2>},
    {Role::second_intermediate, has_nets<3>},
    {Role::second_output, has_nets<3>},
    {Role::second_output_norm, has_nets<3>},
    {Role::third_intermediate, has_nets<4>},
    {Role::third_output, has_nets<4>},
    {Role::third_output_norm, has_nets<4>},
    {Role::query_norm, [](const Config& c) { return c.family->norm_of_heads; }},
    {Role::key_norm, [](const Config& c) { return c.family->norm_of_heads; }},
    {Role::attention_exit_norm,
     [](const Config& c) { return c.family->norms == NormPlace::around; }},
    {Role::output_exit_norm, [](const Config& c) { return c.family->norms == NormPlace::around; }},
    {Role::up, [](const Config& c) { return c.family->gated; }},
    {Role::final_norm, [](const Config& c) { return c.family->norms != NormPlace::after; }},
    {Role::pooler, [](const Config& c) { return c.family->pooler && c.pooler_dense; }},
    {Role::mlm_rest,
     [](const Config& c) { return c.family->splits_decoder && c.hidden_size > c.embedding_size; }},
    {Role::mlm_dense, [](const Config& c) { return c.family->mlm_transform; }},
    {Role::mlm_norm, [](const Config& c) { return c.family->mlm_transform; }}};

BERT_API NormKind norm_kind(const Family& family, Role role) {
  return family.norm_kind == NormKind::affine && role == Role::mlm_norm ? NormKind::layer
                                                                        : family.norm_kind;
}
static bool has_bias(NormKind kind) { return kind == NormKind::layer || kind == NormKind::affine; }

bool has_module(const Config& config, Role role, size_t layer) {
  switch (role) {
    case Role::attention_norm:  // the embeddings' own stands before the first layer
      return !config.family->norm_of_embeddings || layer > 0;
    case Role::cross_query:
    case Role::cross_key:
    case Role::cross_value:
    case Role::cross_output:
    case Role::cross_norm:
      return config.family->cross_attention;
    case Role::distance_bias:
      return config.family->distance_bias == BiasPlace::layers ||
             (config.family->distance_bias == BiasPlace::first_layer && layer == 0);
    case Role::relative_embeddings:
    case Role::relative_norm:
    case Role::position_key:
    case Role::position_query:
      return has_relative(config.disentangled, role);
    default:
      break;
  }
  for (const Conditional& module : kConditional) {
    if (module.role == role) return module.there(config);
  }
  return true;
}

bool has_part(const Config& config, Role role, Part part) {
  const Form form = module_of(role).form;
  if (part == Part::weight) return form != Form::bias;
  if (form == Form::table) return false;
  if (form == Form::norm) return config.norm_bias && has_bias(norm_kind(*config.family, role));
  switch (role) {
    case Role::embedding_projection:
      return !config.family->projects_first;
    case Role::key:
      return config.attention_bias && config.family->key_bias;
    case Role::position_key:
      return config.family->key_bias;
    case Role::query:
    case Role::value:
    case Role::attention_output:
    case Role::cross_query:
    case Role::cross_key:
    case Role::cross_value:
    case Role::cross_output:
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
  spec.joins =
      role == Role::key || role == Role::up || (role == Role::value && config.bottleneck_size == 0);
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

uint64_t count_parameters(std::span<const TensorSpec> tensors) {
  uint64_t sum = 0;
  for (const TensorSpec& tensor : tensors) sum += tensor.count();
  return sum;
}

bool is_joined_by_heads(std::string_view name) {
  return name.find(kByHeads) != std::string_view::npos;
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
    if (joined.whole == kByHeads) continue;
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
  const bool narrow = config.bottleneck_size > 0;
  for (std::string& whole : joined_wholes(name)) {
    const auto is = [&](std::string_view part) { return whole.find(part) != std::string::npos; };
    const bool joins = is(kAllThree) ? !narrow
                       : is(kTwo)    ? narrow
                                     : is(kCrossPair) || (is(kNet) && config.family->gated);
    if (joins) return std::move(whole);
  }
  return "";
}

bool is_encoder_tensor(std::string_view name) {
  return name.starts_with("embeddings") || name.starts_with("encoder.") ||
         name.starts_with("rotary_embeddings.");
}

bool is_buffer(std::string_view name) {
  return name == "embeddings.position_ids" || name == "embeddings.token_type_ids";
}

}  // namespace bert
