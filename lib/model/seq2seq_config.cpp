#include "model/seq2seq_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/json.h"
#include "model/config_heads.h"
#include "model/config_keys.h"
#include "model/names.h"
#include "model/recurrent_config.h"

namespace bert {
namespace {

using namespace config_keys;

constexpr std::string_view kEncoderDecoder = "encoder-decoder";
constexpr std::string_view kEncoderPrefix = "encoder.", kDecoderPrefix = "decoder.";
/// The word vectors of a half that has its own.
constexpr std::string_view kWords = "embed_tokens.weight";
/// Those that both halves share, in files without a prefix.
constexpr std::string_view kShared = "shared.weight";
/// How classes of transformers end that write no tokens.
constexpr std::string_view kReaders[] = {"EncoderModel", "ForSequenceClassification",
                                         "ForTokenClassification", "ForQuestionAnswering"};

bool has_architecture(const Json& root, std::string_view ending) {
  const std::vector<std::string> names = architectures_of(root);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.ends_with(ending); });
}

void read_transformer(const Json& root, Seq2SeqConfig& config) {
  const Seq2SeqFamily& family = *config.family;
  config.encoder = Config::read(root, config.path, *family.encoder);
  config.decoder = Config::read(root, config.path, *family.decoder);
  config.shared_words =
      !family.own_tables || flag_at(root, "share_encoder_decoder_embeddings", true);
  if (const auto size = find(root, {"decoder_vocab_size"}); size && !config.shared_words) {
    config.decoder.vocab_size = size_of(*size, 1, SIZE_MAX >> 1);
  }
  for (Config* half : {&config.encoder, &config.decoder}) half->type_vocab_size = 0;
  if (family.net_key.empty()) return;
  // transformers ties T5's tables whatever the key says, which only tells of the scale. Files that
  // it writes since version 5 say that under a key of its own.
  const bool scales = flag_at(root, "scale_decoder_outputs", config.decoder.tie_word_embeddings);
  if (family.scales_output && scales) {
    const auto width = static_cast<double>(config.decoder.hidden_size);
    config.output_scale = static_cast<float>(1 / std::sqrt(width));
  }
  config.encoder.tie_word_embeddings = config.decoder.tie_word_embeddings = true;
}

void read_halves(const Json& root, Seq2SeqConfig& config) {
  if (flag_at(root, "tie_encoder_decoder", false)) {
    refuse(root.at("tie_encoder_decoder"), "false: halves that share layers are not supported");
  }
  const Json encoder = root.at("encoder"), decoder = root.at("decoder");
  const std::string type = text_at(encoder, {"model_type"}, "");
  const Family* family = find_family(type);
  if (!family) refuse(encoder.at("model_type"), family_list());
  config.encoder = Config::read(encoder, config.path, *family);
  const Family* other = decoder_family(text_at(decoder, {"model_type"}, ""));
  if (!other) refuse(decoder.at("model_type"), decoder_family_list());
  for (const std::string_view key : {"is_decoder", "add_cross_attention"}) {
    if (!flag_at(decoder, key, true)) refuse(decoder.at(key), "true");
  }
  config.decoder = Config::read(decoder, config.path, *other);
  if (config.projects() && find(decoder, {"cross_attention_hidden_size"})) {
    refuse(decoder.at("cross_attention_hidden_size"), "null where the halves differ in width");
  }
}

/// `name` behind `prefix`, or empty.
std::string behind(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) ? std::string(name.substr(prefix.size())) : "";
}

std::vector<HalfName> names_of_both(const Seq2SeqFamily& family, std::string_view name) {
  if (name == kShared || name == family.shared_words) {
    return {{false, std::string(family.encoder->tensor_prefix).append(kWords)},
            {true, std::string(family.decoder->tensor_prefix).append(kWords)}};
  }
  for (const std::string_view prefix :
       {family.encoder->tensor_prefix, family.encoder->older_prefix}) {
    if (!prefix.empty() && name.starts_with(prefix)) return {{false, std::string(name)}};
  }
  return {{true, std::string(name)}};
}

/// "marian, bart, ..", for messages.
std::string seq2seq_list() {
  std::string list;
  for (const Seq2SeqFamily& family : seq2seq_families()) {
    if (list.ends_with(family.encoder->model_type)) continue;
    list.append(list.empty() ? "" : ", ").append(family.encoder->model_type);
  }
  return list;
}

}  // namespace

const Seq2SeqFamily* seq2seq_family(const Json& root) {
  const std::string type = text_at(root, {"model_type"}, "");
  for (const Seq2SeqFamily& family : seq2seq_families()) {
    if (family.encoder->model_type != type) continue;
    if (family.net_key.empty()) return &family;
    const std::string net = text_at(root, {family.net_key}, family.net_absent);
    if (net.starts_with("gated-") == family.encoder->gated) return &family;
  }
  return nullptr;
}

std::optional<Seq2SeqKind> seq2seq_kind(const Json& root) {
  const auto type = root.is_object() ? find(root, {"model_type"}) : std::nullopt;
  if (!type || !type->is_string()) return std::nullopt;
  if (seq2seq_family(root)) {
    for (const std::string_view ending : kReaders) {
      if (has_architecture(root, ending)) return std::nullopt;
    }
    return Seq2SeqKind::transformer;
  }
  if (type->as_string() == kEncoderDecoder) return Seq2SeqKind::encoder_decoder;
  if (RecurrentConfig::is(root)) return Seq2SeqKind::recurrent;
  return std::nullopt;
}

Seq2SeqConfig Seq2SeqConfig::read(const Json& root, const std::string& path) {
  Seq2SeqConfig config;
  config.path = path;
  config.family = seq2seq_family(root);
  const auto kind = config.family ? Seq2SeqKind::transformer : seq2seq_kind(root);
  if (!kind || *kind == Seq2SeqKind::recurrent) {
    throw Error(Error::Kind::unsupported, config.path,
                fmt::format("no model that translates, wants model_type {}, {} or {}",
                            seq2seq_list(), kEncoderDecoder, kRecurrentType));
  }
  config.kind = *kind;
  config.family ? read_transformer(root, config) : read_halves(root, config);
  config.encoder.require_sizes();
  config.decoder.require_sizes();
  return config;
}

std::string marian_config(const MarianShape& s) {
  std::string text =
      "{\n  \"architectures\": [\"MarianMTModel\"],\n"
      "  \"activation_dropout\": 0.0,\n  \"activation_function\": \"relu\",\n";
  const auto add = [&](std::string_view key, const auto& value) {
    text += fmt::format("  \"{}\": {},\n", key, value);
  };
  const auto real = [](double value) {  // transformers wants 0.0, not 0
    const std::string digits = fmt::format("{}", value);
    return digits.find_first_of(".e") == digits.npos ? digits + ".0" : digits;
  };
  add("attention_dropout", real(0));
  add("d_model", s.hidden_size);
  for (const std::string_view half : {"decoder", "encoder"}) {
    add(fmt::format("{}_attention_heads", half), s.heads);
    add(fmt::format("{}_ffn_dim", half), s.intermediate_size);
    add(fmt::format("{}_layers", half), s.layers);
  }
  add("decoder_start_token_id", s.pad);
  add("decoder_vocab_size", s.vocab_size);
  add("dropout", real(s.dropout));
  add("dtype", "\"float32\"");
  add("eos_token_id", s.eos);
  add("forced_eos_token_id", s.eos);
  add("init_std", real(s.init_std));
  add("is_encoder_decoder", true);
  add("max_position_embeddings", s.max_positions);
  add("model_type", fmt::format("\"{}\"", marian_family().encoder->model_type));
  add("num_hidden_layers", s.layers);
  add("pad_token_id", s.pad);
  add("scale_embedding", true);
  add("share_encoder_decoder_embeddings", true);
  add("tie_word_embeddings", true);
  return text + fmt::format("  \"vocab_size\": {}\n}}\n", s.vocab_size);
}

std::string greedy_generation_config(size_t max_length, int32_t eos, int32_t pad) {
  return fmt::format(
      "{{\n  \"bad_words_ids\": [[{1}]],\n  \"decoder_start_token_id\": {1},\n"
      "  \"eos_token_id\": {0},\n  \"max_length\": {2},\n  \"num_beams\": 1,\n"
      "  \"pad_token_id\": {1}\n}}\n",
      eos, pad, max_length);
}

std::vector<HalfName> half_names(const Seq2SeqConfig& config, std::string_view name) {
  if (config.family) return names_of_both(*config.family, name);
  if (std::string own = behind(name, kEncoderPrefix); !own.empty()) return {{false, own}};
  if (std::string own = behind(name, kDecoderPrefix); !own.empty()) return {{true, own}};
  return {};
}

std::string half_prefix(const Seq2SeqConfig& config, bool decoder) {
  if (!config.family) return std::string(decoder ? kDecoderPrefix : kEncoderPrefix);
  return std::string((decoder ? config.decoder : config.encoder).family->tensor_prefix);
}

std::string seq2seq_file_name(const Seq2SeqConfig& config, bool decoder, std::string_view name) {
  const Config& half = decoder ? config.decoder : config.encoder;
  const std::string own = file_name(name, half);
  if (config.family) {
    const bool shared = config.shared_words && own.ends_with(kWords);
    return shared ? std::string(config.family->shared_words) : own;
  }
  return std::string(decoder ? kDecoderPrefix : kEncoderPrefix).append(own);
}

}  // namespace bert
