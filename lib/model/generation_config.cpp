#include "model/generation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/json.h"
#include "model/config_keys.h"

namespace bert {
namespace {

using namespace config_keys;

constexpr size_t kMostBeams = 1000, kMostLength = size_t{1} << 20, kMostIds = size_t{1} << 20;
constexpr size_t kDefaultNewTokens = 20;  // of transformers

/// The keys of one file, and where it lacks some of a decoder's own config.
struct Keys {
  Json root;
  std::optional<Json> decoder;
  size_t vocab_size;

  std::optional<Json> find(std::string_view key) const {
    const auto value = config_keys::find(root, {key});
    return value || !decoder ? value : config_keys::find(*decoder, {key});
  }
  size_t size(std::string_view key, size_t absent, size_t least, size_t most) const {
    const auto value = find(key);
    return value ? size_of(*value, least, most) : absent;
  }
  double number(std::string_view key, double absent) const {
    const auto value = find(key);
    if (!value) return absent;
    const bool is_number =
        value->type() == Json::Type::integer || value->type() == Json::Type::number;
    if (!is_number || !std::isfinite(value->as_double())) refuse(*value, "a finite number");
    return value->as_double();
  }
  bool flag(std::string_view key) const {
    const auto value = find(key);
    if (!value) return false;
    if (value->type() != Json::Type::boolean) refuse(*value, "true or false");
    return value->as_bool();
  }
  int32_t id(const Json& value) const {
    return static_cast<int32_t>(size_of(value, 0, vocab_size - 1));
  }
  /// An id, or an array of them.
  std::vector<int32_t> ids(const Json& value) const {
    if (!value.is_array()) return {id(value)};
    if (value.size() > kMostIds) refuse(value, fmt::format("at most {} ids", kMostIds));
    std::vector<int32_t> list;
    value.for_each_element([&](Json element) { list.push_back(id(element)); });
    return list;
  }
  std::vector<int32_t> ids(std::string_view key) const {
    const auto value = find(key);
    return value ? ids(*value) : std::vector<int32_t>();
  }
};

/// Whether a key has the value at which it changes nothing.
bool is_idle(const Json& value, double idle) {
  switch (value.type()) {
    case Json::Type::boolean:
      return !value.as_bool();
    case Json::Type::integer:
    case Json::Type::number:
      return value.as_double() == idle;
    case Json::Type::array:
    case Json::Type::object:
      return value.size() == 0;
    default:
      return false;
  }
}

/// What would change the tokens, and what we lack.
void refuse_others(const Keys& keys) {
  constexpr std::pair<std::string_view, double> kOthers[] = {
      {"do_sample", 0},
      {"num_beam_groups", 1},
      {"diversity_penalty", 0},
      {"penalty_alpha", 0},
      {"dola_layers", 0},
      {"constraints", 0},
      {"force_words_ids", 0},
      {"encoder_repetition_penalty", 1},
      {"encoder_no_repeat_ngram_size", 0},
      {"exponential_decay_length_penalty", 0},
      {"sequence_bias", 0},
      {"guidance_scale", 1},
      {"watermarking_config", 0},
      {"stop_strings", 0},
      {"max_time", 0},
      {"token_healing", 0}};
  for (const auto& [key, idle] : kOthers) {
    const auto value = keys.find(key);
    if (value && !is_idle(*value, idle)) {
      throw Error(Error::Kind::unsupported, value->where(),
                  fmt::format("found {}: {} is not supported", value->describe(), key));
    }
  }
}

GenerationConfig::Early early_at(const Keys& keys) {
  using Early = GenerationConfig::Early;
  const auto value = keys.find("early_stopping");
  if (!value) return Early::no;
  if (value->is_string() && value->as_string() == "never") return Early::never;
  if (value->type() != Json::Type::boolean) refuse(*value, "true, false or \"never\"");
  return value->as_bool() ? Early::yes : Early::no;
}

std::vector<std::vector<int32_t>> bad_words_at(const Keys& keys) {
  std::vector<std::vector<int32_t>> words;
  const auto value = keys.find("bad_words_ids");
  if (!value) return words;
  if (!value->is_array() || value->size() > kMostIds) refuse(*value, "an array of arrays of ids");
  value->for_each_element([&](Json word) {
    if (!word.is_array() || word.size() == 0) refuse(word, "an array of ids");
    words.push_back(keys.ids(word));
  });
  return words;
}

/// The length of a target, as transformers settles it.
size_t max_length_at(const Keys& keys, size_t positions) {
  if (keys.find("max_new_tokens")) return 1 + keys.size("max_new_tokens", 0, 1, kMostLength);
  return keys.find("max_length") ? keys.size("max_length", 0, 2, kMostLength)
                                 : std::min(1 + kDefaultNewTokens, positions);
}

void read_ends(const Keys& keys, GenerationConfig& config) {
  config.eos = keys.ids("eos_token_id");
  // A word that is an end token is no bad word.
  std::erase_if(config.bad_words_ids, [&](const std::vector<int32_t>& word) {
    return word.size() == 1 &&
           std::find(config.eos.begin(), config.eos.end(), word[0]) != config.eos.end();
  });
  if (const auto pad = keys.find("pad_token_id")) {
    config.pad = keys.id(*pad);
  } else if (!config.eos.empty()) {
    config.pad = config.eos[0];
  }
  auto start = keys.find("decoder_start_token_id");
  if (!start) start = keys.find("bos_token_id");
  if (!start) {
    throw Error(Error::Kind::unsupported, keys.root.where(),
                "no decoder_start_token_id and no bos_token_id, with which a target begins");
  }
  config.start = keys.id(*start);
}

}  // namespace

GenerationConfig GenerationConfig::read(const Json& root, bool of_config, size_t positions,
                                        size_t vocab_size) {
  if (!root.is_object()) refuse(root, "an object");
  Keys keys{root, {}, std::max<size_t>(vocab_size, 1)};
  if (of_config) keys.decoder = config_keys::find(root, {"decoder"});
  if (keys.decoder && !keys.decoder->is_object()) refuse(*keys.decoder, "an object");
  refuse_others(keys);
  GenerationConfig config;
  config.num_beams = keys.size("num_beams", 1, 1, kMostBeams);
  config.length_penalty = keys.number("length_penalty", 1);
  config.early_stopping = early_at(keys);
  config.max_length = max_length_at(keys, positions);
  config.min_length = keys.size("min_length", 0, 0, kMostLength);
  if (keys.find("min_new_tokens")) {  // before which min_length does not count
    config.min_new_tokens = keys.size("min_new_tokens", 0, 0, kMostLength);
    config.min_length = 0;
  }
  config.repetition_penalty = keys.number("repetition_penalty", 1);
  if (!(config.repetition_penalty > 0)) {
    refuse(*keys.find("repetition_penalty"), "a number above 0");
  }
  config.no_repeat_ngram_size = keys.size("no_repeat_ngram_size", 0, 0, kMostLength);
  config.bad_words_ids = bad_words_at(keys);
  config.suppress_tokens = keys.ids("suppress_tokens");
  config.begin_suppress_tokens = keys.ids("begin_suppress_tokens");
  if (const auto forced = keys.find("forced_bos_token_id")) {
    config.forced_bos_token_id = keys.id(*forced);
  }
  config.forced_eos_token_id = keys.ids("forced_eos_token_id");
  config.renormalize_logits = keys.flag("renormalize_logits");
  read_ends(keys, config);
  return config;
}

}  // namespace bert
