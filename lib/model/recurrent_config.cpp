#include "model/recurrent_config.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/json.h"
#include "model/config_keys.h"

namespace bert {
namespace {

using namespace config_keys;

constexpr size_t kMostSize = size_t{1} << 20, kMostWords = INT32_MAX, kMostLayers = 256;

constexpr std::pair<std::string_view, Cell> kCells[] = {
    {"rnn", Cell::rnn}, {"gru", Cell::gru}, {"lstm", Cell::lstm}};
constexpr std::pair<std::string_view, RecurrentAttention> kAttentions[] = {
    {"none", RecurrentAttention::none},
    {"dot", RecurrentAttention::dot},
    {"additive", RecurrentAttention::additive}};

template <typename Value, size_t N>
std::optional<Value> value_of(const std::pair<std::string_view, Value> (&words)[N],
                              std::string_view word) {
  for (const auto& [name, value] : words) {
    if (name == word) return value;
  }
  return std::nullopt;
}

template <typename Value, size_t N>
std::string_view word_of(const std::pair<std::string_view, Value> (&words)[N], Value value) {
  for (const auto& [name, known] : words) {
    if (known == value) return name;
  }
  return "";
}

TensorSpec spec(std::string_view name, std::vector<size_t> shape, int32_t depth) {
  TensorSpec s;
  s.name = name;
  s.initial = shape.size() == 1 ? Initial::zeros : Initial::drawn;
  s.part = shape.size() == 1 ? Part::bias : Part::weight;
  s.shape = std::move(shape);
  s.depth = depth;
  return s;
}

}  // namespace

std::optional<Cell> cell_of(std::string_view word) { return value_of(kCells, word); }

std::optional<RecurrentAttention> recurrent_attention_of(std::string_view word) {
  return value_of(kAttentions, word);
}

std::string_view cell_word(Cell cell) { return word_of(kCells, cell); }
std::string_view recurrent_attention_word(RecurrentAttention attention) {
  return word_of(kAttentions, attention);
}

bool RecurrentConfig::is(const Json& root) {
  const auto type = root.is_object() ? find(root, {"model_type"}) : std::nullopt;
  return type && type->is_string() && type->as_string() == kRecurrentType;
}

RecurrentConfig RecurrentConfig::read(const Json& root, const std::string& path) {
  if (!is(root)) {
    throw Error(Error::Kind::unsupported, path, fmt::format("wants model_type {}", kRecurrentType));
  }
  RecurrentConfig c;
  c.path = path;
  const auto cell = cell_of(root.at("cell").as_string());
  if (!cell) refuse(root.at("cell"), "rnn, gru or lstm");
  c.cell = *cell;
  const auto attention = recurrent_attention_of(root.at("attention").as_string());
  if (!attention) refuse(root.at("attention"), "none, dot or additive");
  c.attention = *attention;
  c.vocab_size = size_of(root.at("vocab_size"), 1, kMostWords);
  c.embedding_size = size_of(root.at("embedding_size"), 1, kMostSize);
  c.hidden_size = size_of(root.at("hidden_size"), 1, kMostSize);
  c.num_layers = size_of(root.at("num_layers"), 1, kMostLayers);
  c.bidirectional = flag_at(root, "bidirectional", false);
  if (c.bidirectional && c.hidden_size % 2 != 0) {
    refuse(root.at("hidden_size"), "an even number: each direction of the encoder has half of it");
  }
  if (c.attention == RecurrentAttention::additive) {
    c.attention_size = size_of(root.at("attention_size"), 1, kMostSize);
  }
  const auto id_at = [&](const char* key) {
    return static_cast<int32_t>(size_of(root.at(key), 0, c.vocab_size - 1));
  };
  c.decoder_start_token_id = id_at("decoder_start_token_id");
  c.eos_token_id = id_at("eos_token_id");
  return c;
}

std::string RecurrentConfig::text() const {
  std::string attention_line;
  if (attention == RecurrentAttention::additive) {
    attention_line = fmt::format("  \"attention_size\": {},\n", attention_size);
  }
  return fmt::format(
      "{{\n  \"model_type\": \"{}\",\n  \"cell\": \"{}\",\n  \"attention\": \"{}\",\n{}"
      "  \"bidirectional\": {},\n  \"decoder_start_token_id\": {},\n  \"embedding_size\": {},\n"
      "  \"eos_token_id\": {},\n  \"hidden_size\": {},\n  \"num_layers\": {},\n  \"vocab_size\": "
      "{}\n}}\n",
      kRecurrentType, word_of(kCells, cell), word_of(kAttentions, attention), attention_line,
      bidirectional, decoder_start_token_id, embedding_size, eos_token_id, hidden_size, num_layers,
      vocab_size);
}

CellNames CellNames::of(std::string_view module, size_t layer, bool reverse) {
  const auto name = [&](std::string_view part) {
    return fmt::format("{}.{}_l{}{}", module, part, layer, reverse ? "_reverse" : "");
  };
  return {name("weight_ih"), name("weight_hh"), name("bias_ih"), name("bias_hh")};
}

void add_cell_tensors(const CellNames& names, Cell cell, size_t input_size, size_t hidden_size,
                      int32_t depth, std::vector<TensorSpec>& specs) {
  const size_t wide = gates_of(cell) * hidden_size;
  specs.push_back(spec(names.weight_ih, {wide, input_size}, depth));
  specs.push_back(spec(names.weight_hh, {wide, hidden_size}, depth));
  specs.push_back(spec(names.bias_ih, {wide}, depth));
  specs.push_back(spec(names.bias_hh, {wide}, depth));
}

std::vector<TensorSpec> recurrent_tensors(const RecurrentConfig& c) {
  using namespace recurrent_names;
  const size_t v = c.vocab_size, e = c.embedding_size, h = c.hidden_size, a = c.attention_size;
  std::vector<TensorSpec> specs;
  specs.push_back(spec(kSourceWords, {v, e}, 0));
  specs.push_back(spec(kTargetWords, {v, e}, 0));
  for (size_t l = 0; l < c.num_layers; ++l) {
    for (size_t d = 0; d < c.directions(); ++d) {
      add_cell_tensors(CellNames::of(kEncoder, l, d == 1), c.cell, l == 0 ? e : h,
                       c.encoder_hidden_size(), 1, specs);
    }
  }
  for (size_t l = 0; l < c.num_layers; ++l) {
    add_cell_tensors(CellNames::of(kDecoder, l, false), c.cell, l == 0 ? e + c.context_size() : h,
                     h, 1, specs);
  }
  if (c.attention == RecurrentAttention::additive) {
    specs.push_back(spec(kQuery, {a, h}, 1));
    specs.push_back(spec(kKey, {a, h}, 1));
    specs.push_back(spec(kScore, {1, a}, 1));
  }
  specs.push_back(spec(kOutput, {v, h}, 2));
  specs.push_back(spec(kOutputBias, {v}, 2));
  return specs;
}

}  // namespace bert
