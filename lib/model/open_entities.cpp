#include "model/open_entities.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/json.h"
#include "model/config.h"
#include "model/config_keys.h"
#include "model/recurrent_config.h"
#include "model/schema.h"

namespace bert {
namespace {

using namespace config_keys;

constexpr size_t kMostWidth = 1 << 16, kMostWords = 1 << 20, kMostSpan = 1 << 10, kMostLayers = 64;

/// A key that makes another kind of model if it has a value.
struct OtherKind {
  std::string_view key, kind;
};
constexpr OtherKind kOtherKinds[] = {
    {"relations_layer", "a GLiNER that finds relations"},
    {"labels_decoder", "a GLiNER whose decoder writes the names of types"},
    {"labels_encoder", "a GLiNER with an encoder for names (bi-encoder)"},
    {"span_encoder_config", "a GLiNER with a second encoder"},
    {"post_fusion_schema", "a GLiNER with cross attention of words and names"}};
/// A flag that makes another kind of model if it is set.
constexpr OtherKind kOtherFlags[] = {
    {"fuse_layers", "a GLiNER that reads all layers"},
    {"precomputed_prompts_mode", "a GLiNER with fixed types"},
    {"represent_spans", "a GLiNER with vectors of spans behind its labels of words"}};

[[noreturn]] void refuse_kind(const Json& value, std::string_view kind) {
  throw Error(Error::Kind::unsupported, value.where(),
              fmt::format("{} is not supported, wants one encoder for text and names", kind));
}

void refuse_other_kinds(const Json& root) {
  if (text_at(root, {"model_type"}, "") == "gliner_streaming_span") {
    refuse_kind(root.at("model_type"), "a GLiNER over a decoder");
  }
  for (const auto& [key, kind] : kOtherKinds) {
    const auto value = find(root, {key});
    if (value && !(value->is_string() && value->as_string().empty())) refuse_kind(*value, kind);
  }
  for (const auto& [key, kind] : kOtherFlags) {
    if (flag_at(root, key, false)) refuse_kind(root.at(key), kind);
  }
  const std::string splitter = text_at(root, {"words_splitter_type"}, "whitespace");
  if (splitter != "whitespace") refuse(root.at("words_splitter_type"), "whitespace");
}

WordPooling pooling_of(const Json& root) {
  constexpr std::array<std::pair<std::string_view, WordPooling>, 4> kNames = {
      {{"first", WordPooling::first},
       {"last", WordPooling::last},
       {"mean", WordPooling::mean},
       {"max", WordPooling::max}}};
  const std::string name = text_at(root, {"subtoken_pooling"}, "first");
  for (const auto& [known, pooling] : kNames) {
    if (name == known) return pooling;
  }
  refuse(root.at("subtoken_pooling"), "first, last, mean or max");
}

/// An id, or -1 if it is to be looked up.
int32_t id_at(const Json& root, std::string_view key) {
  const auto value = find(root, {key});
  if (!value || value->try_int() == -1) return -1;
  return static_cast<int32_t>(size_of(*value, 0, INT32_MAX));
}

size_t size_at(const Json& root, std::string_view key, size_t absent, size_t least, size_t most) {
  const auto value = find(root, {key});
  return value ? size_of(*value, least, most) : absent;
}

/// Linear layers 0 and 3 of one of torch's nn.Sequential, whose others have no tensors.
void add_two(std::vector<TensorSpec>& list, const std::string& name, size_t in, size_t inner,
             size_t out) {
  for (const auto& spec : open_entity_linear(name + ".0", inner, in)) list.push_back(spec);
  for (const auto& spec : open_entity_linear(name + ".3", out, inner)) list.push_back(spec);
}

}  // namespace

OpenEntities OpenEntities::read(const Json& root) {
  refuse_other_kinds(root);
  OpenEntities head;
  const std::string mode = text_at(root, {"span_mode"}, "markerV0");
  if (mode != "markerV0" && mode != "token_level") {
    refuse(root.at("span_mode"), "markerV0 or token_level");
  }
  head.of_words = mode == "token_level";
  head.width = size_at(root, "hidden_size", 512, 1, kMostWidth);
  head.max_width = size_at(root, "max_width", 12, 1, kMostSpan);
  head.max_words = size_at(root, "max_len", 384, 1, kMostWords);
  head.rnn_layers = size_at(root, "num_rnn_layers", 1, 0, kMostLayers);
  if (head.rnn_layers > 0 && head.width % 2 > 0) {
    refuse(root.at("hidden_size"), "an even number, since both directions of a net share it");
  }
  head.pooling = pooling_of(root);
  head.at_mark = flag_at(root, "embed_ent_token", true);
  head.name_mark = text_at(root, {"ent_token"}, head.name_mark);
  head.end_mark = text_at(root, {"sep_token"}, head.end_mark);
  const bool looked_up = id_at(root, "vocab_size") < 0;
  head.mark_id = looked_up ? -1 : id_at(root, "class_token_index");
  head.encoder = text_at(root, {"model_name"}, "");
  return head;
}

std::vector<TensorSpec> open_entity_linear(const std::string& name, size_t out, size_t in) {
  TensorSpec weight, bias;
  weight.name = name + ".weight";
  weight.shape = {out, in};
  bias.name = name + ".bias";
  bias.shape = {out};
  bias.part = Part::bias;
  bias.initial = Initial::zeros;
  return {std::move(weight), std::move(bias)};
}

std::vector<TensorSpec> open_entity_tensors(const Config& config) {
  using namespace open_entity_names;
  const OpenEntities& head = config.open_entities;
  const size_t g = head.width;
  std::vector<TensorSpec> list;
  const auto add = [&](const std::string& name, size_t out, size_t in) {
    for (const auto& spec : open_entity_linear(name, out, in)) list.push_back(spec);
  };
  if (g != config.hidden_size) add(kProjection, g, config.hidden_size);
  for (size_t layer = 0; layer < head.rnn_layers; ++layer) {
    for (const bool reverse : {false, true}) {
      add_cell_tensors(CellNames::of(kRnn, layer, reverse), Cell::lstm, g, g / 2, 0, list);
    }
  }
  if (head.of_words) {
    add(kScorerWord, 2 * g, g);
    add(kScorerName, 2 * g, g);
    add_two(list, kScorer, 3 * g, 4 * g, 3);
  } else {
    add_two(list, kStart, g, 4 * g, g);
    add_two(list, kEnd, g, 4 * g, g);
    add_two(list, kSpan, 2 * g, 4 * g, g);
    add_two(list, kName, g, 4 * g, g);
  }
  for (TensorSpec& spec : list) {
    spec.role = Role::bilstm;
    spec.depth = static_cast<int32_t>(config.stored_layers()) + 1;
  }
  return list;
}

}  // namespace bert
