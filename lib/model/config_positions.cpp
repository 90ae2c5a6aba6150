#include "model/config_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/config_keys.h"

namespace bert {
namespace {

using namespace config_keys;

constexpr size_t kMostDistance = size_t{1} << 20;  // between tokens

/// Changes of the angles: "linear" of transformers, "ntk" of GTE's own code.
void read_scaling(const Json& scaling, Rotary& rotary) {
  if (!scaling.is_object()) refuse(scaling, "an object");
  const std::string type = text_at(scaling, {"rope_type", "type"}, "default");
  if (type == "default") return;
  if (type != "linear" && type != "ntk") {
    refuse(scaling, "rotary positions of the type default, linear or ntk");
  }
  if (find(scaling, {"mixed_b"})) refuse(scaling.at("mixed_b"), "no mixed_b");
  (type == "linear" ? rotary.linear : rotary.ntk) = number_at(scaling, "factor", 1);
  const double part = number_at(scaling, "partial_rotary_factor", 1);
  if (part != 1) refuse(scaling.at("partial_rotary_factor"), "1: all of a head is turned");
}

/// Of layers of one kind. Since transformers 5, rope_parameters says all; before it, two keys do.
Rotary read_rotary(const Json& root, const std::optional<Json>& parameters,
                   std::span<const std::string_view> theta_keys, double theta, bool scaled) {
  Rotary rotary;
  rotary.theta = theta;
  for (const std::string_view key : theta_keys) {
    if (!key.empty()) rotary.theta = number_at(root, key, rotary.theta);
  }
  const auto scaling = find(root, {"rope_scaling", "rotary_scaling_factor"});
  if (scaling && scaled) read_scaling(*scaling, rotary);
  if (!parameters) return rotary;
  read_scaling(*parameters, rotary);
  rotary.theta = number_at(*parameters, "rope_theta", rotary.theta);
  return rotary;
}

/// Which layers see near tokens only: as `layer_types` says, in older files all but every n-th.
void read_local_layers(const Json& root, Config& config) {
  const size_t layers = config.num_hidden_layers;
  const Family& family = *config.family;
  const bool may_be_local = config.max_window > 0 || family.local_rotary_theta > 0;
  const auto types = find(root, {"layer_types"});
  if (!types && !may_be_local) return;
  config.local_layers.resize(layers);
  if (!types) {
    const auto every = find(root, {family.global_every_key});
    const size_t n = every ? size_of(*every, 1, SIZE_MAX >> 1) : family.global_every;
    const size_t first = family.global_is_last ? n - 1 : 0;
    for (size_t i = 0; i < layers; ++i) config.local_layers[i] = i % n != first;
    return;
  }
  if (!types->is_array() || types->size() != layers) {
    refuse(*types, fmt::format("an array of {} layers", layers));
  }
  size_t i = 0;
  types->for_each_element([&](Json type) {
    const std::string_view name = type.is_string() ? type.as_string() : "";
    if (name != "full_attention" && !(may_be_local && name == "sliding_attention")) {
      refuse(type, may_be_local ? "full_attention or sliding_attention" : "full_attention");
    }
    config.local_layers[i++] = name == "sliding_attention";
  });
}

void read_rotary_positions(const Json& root, Config& config) {
  const Family& family = *config.family;
  config.position_table = false;
  if (config.head_size() % 2 != 0) {
    throw Error(Error::Kind::unsupported, config.path,
                fmt::format("heads are {} wide, wants an even width: positions turn pairs",
                            config.head_size()));
  }
  const auto parameters = find(root, {"rope_parameters"});
  const bool local = family.local_rotary_theta > 0;
  const auto of_kind = [&](std::string_view kind) {
    return !local || !parameters ? parameters : find(*parameters, {kind});
  };
  config.rotary = read_rotary(root, of_kind("full_attention"), family.rotary_theta_keys,
                              family.rotary_theta, true);
  config.rotary.neighbours = family.turns_neighbours;
  if (family.local_rotary_theta > 0) {
    config.local_rotary =
        read_rotary(root, of_kind("sliding_attention"), {&family.local_rotary_theta_key, 1},
                    family.local_rotary_theta, family.scales_local_angles);
  }
  read_local_layers(root, config);
}

void read_typed_positions(const Json& root, Config& config) {
  const std::string type = text_at(root, {"position_embedding_type"}, "absolute");
  if (type == "rotary") return read_rotary_positions(root, config);
  if (type != "absolute") refuse(root.at("position_embedding_type"), "absolute or rotary");
}

/// "p2c|c2p", or an array of the two.
void read_parts(const Json& value, Disentangled& d) {
  std::string text;
  if (value.is_string()) {
    text = value.as_string();
  } else {
    if (!value.is_array()) refuse(value, "an array of c2p and p2c");
    value.for_each_element(
        [&](Json part) { text.append(part.is_string() ? part.as_string() : "?").append("|"); });
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('|', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    std::erase(part, ' ');
    if (part == "c2p") {
      d.content_to_position = true;
    } else if (part == "p2c") {
      d.position_to_content = true;
    } else if (!part.empty()) {
      refuse(value, "c2p and p2c");
    }
    begin = end + 1;
  }
}

/// A whole number of a key that means "none" below 1.
size_t count_at(const Json& root, std::string_view key) {
  const auto value = find(root, {key});
  if (!value) return 0;
  const auto number = value->try_int();
  if (!number || *number > static_cast<int64_t>(kMostDistance)) {
    refuse(*value, fmt::format("a whole number up to {}", kMostDistance));
  }
  return static_cast<size_t>(std::max<int64_t>(*number, 0));
}

void read_disentangled(const Json& root, Config& config) {
  Disentangled& d = config.disentangled;
  config.position_table = flag_at(root, "position_biased_input", true);
  if (const auto parts = find(root, {"pos_att_type"})) read_parts(*parts, d);
  if (!flag_at(root, "relative_attention", false)) {
    if (d.content_to_position || d.position_to_content) {
      refuse(root.at("pos_att_type"), "none without relative_attention");
    }
    return;
  }
  d.shared = flag_at(root, "share_att_key", false);
  d.buckets = count_at(root, "position_buckets");
  d.max_distance = count_at(root, "max_relative_positions");
  if (d.max_distance == 0) d.max_distance = config.max_position_embeddings;
  if (d.max_distance > kMostDistance) {
    refuse(root.at("max_position_embeddings"), fmt::format("at most {}", kMostDistance));
  }
  const std::string norm = text_at(root, {"norm_rel_ebd"}, "none");
  d.norm = norm.find("layer_norm") != std::string::npos;
  if (d.buckets == 1) refuse(root.at("position_buckets"), "2 or more");
  if (d.buckets > 0 && d.max_distance < d.buckets / 2 + 2) {
    throw Error(Error::Kind::unsupported, root.where(),
                fmt::format("max_relative_positions {} is too small for position_buckets {}",
                            d.max_distance, d.buckets));
  }
}

void check_convolution(const Json& root, const Config& config) {
  if (config.conv_kernel_size == 0) return;
  if (config.conv_kernel_size % 2 == 0) refuse(root.at("conv_kernel_size"), "an odd size");
  if (config.hidden_size % config.conv_groups != 0) {
    refuse(root.at("conv_groups"), fmt::format("a divisor of {}", config.hidden_size));
  }
}

}  // namespace

void read_positions(const Json& root, Config& config) {
  for (const std::string_view key : {"head_dim", "attention_head_size"}) {
    const auto value = find(root, {key});
    if (value && value->try_int() != static_cast<int64_t>(config.head_size())) {
      refuse(*value, fmt::format("{}, the hidden size by the heads", config.head_size()));
    }
  }
  const auto pooler = find(root, {"pooler_hidden_size"});
  if (!config.family->pooler_act_key.empty() && pooler &&
      pooler->try_int() != static_cast<int64_t>(config.hidden_size)) {
    refuse(*pooler, fmt::format("{}, the hidden size", config.hidden_size));
  }
  switch (config.family->positions) {
    case Positions::table:
    case Positions::waves:
    case Positions::steep_waves:
      break;
    case Positions::rotary:
      read_rotary_positions(root, config);
      break;
    case Positions::typed:
      read_typed_positions(root, config);
      break;
    case Positions::chosen:
      read_disentangled(root, config);
      check_convolution(root, config);
      break;
  }
  if (config.num_hidden_groups == 0) return;
  if (config.num_hidden_groups > std::max<size_t>(config.num_hidden_layers, 1)) {
    refuse(root.at("num_hidden_groups"), fmt::format("at most {}", config.num_hidden_layers));
  }
  config.num_hidden_layers *= config.inner_group_num;
}

size_t Config::stored_layer(size_t layer) const {
  if (num_hidden_groups == 0) return layer;
  const size_t runs = num_hidden_layers / inner_group_num, run = layer / inner_group_num;
  // transformers computes this in doubles, too: int(i / (layers / groups)).
  const auto group =
      static_cast<size_t>(static_cast<double>(run) /
                          (static_cast<double>(runs) / static_cast<double>(num_hidden_groups)));
  return group * inner_group_num + layer % inner_group_num;
}

size_t Config::window(size_t layer) const {
  if (layer >= local_layers.size() || !local_layers[layer]) return SIZE_MAX;
  return bidirectional ? max_window / 2 : max_window - 1;
}

}  // namespace bert
