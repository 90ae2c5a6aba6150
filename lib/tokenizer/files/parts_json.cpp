#include "tokenizer/files/parts_json.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "text/unicode.h"

namespace bert {
namespace {

[[noreturn]] void unsupported(Json value, std::string_view what) {
  throw Error(Error::Kind::unsupported, value.where(), what);
}

/// The steps of `key`, made by make(step, type).
template <typename Part, typename Make>
std::vector<Part> read_parts(Json root, std::string_view key, std::string_view list, Make make) {
  std::vector<Part> parts;
  const auto value = root.find(key);
  if (!value || value->is_null()) return parts;
  for_each_part(*value, list, [&](Json step) {
    Part part;
    make(step, step.at("type").as_string(), part);
    parts.push_back(std::move(part));
  });
  return parts;
}

/// A member that is one character.
std::string character(Json value) {
  const std::string_view text = value.as_string();
  if (count_code_points(text) != 1) {
    throw Error(Error::Kind::data, value.where(),
                fmt::format("{} is no character", value.describe()));
  }
  return std::string(text);
}

/// The text of {"String": ..}; nullopt: the pattern is {"Regex": ..}.
std::optional<std::string> literal(Json pattern) {
  const auto text = pattern.find("String");
  if (!text) return std::nullopt;
  return std::string(text->as_string());
}

void read_replace(Json step, NormalizerPart& part) {
  const Json pattern = step.at("pattern");
  part.content = step.at("content").as_string();
  part.kind = NormalizerPart::Kind::replace_text;
  if (const auto text = literal(pattern)) {
    part.pattern = *text;
    return;
  }
  const Json regex = pattern.at("Regex");
  if (regex.as_string() == R"(\n)") {  // the end of a line
    part.pattern = "\n";
  } else if (regex.as_string() == " {2,}") {
    part.kind = NormalizerPart::Kind::replace_blanks;
  } else if (regex.as_string() == R"(\s{2,}|[\n\r\t])") {
    part.kind = NormalizerPart::Kind::replace_white;
  } else {
    unsupported(regex, fmt::format("the pattern {} is not supported, wants \" {{2,}}\" or a String",
                                   regex.describe()));
  }
}

void read_normalizer(Json step, std::string_view type, NormalizerPart& part) {
  using Kind = NormalizerPart::Kind;
  static const std::map<std::string_view, NormalForm> kForms = {{"NFC", NormalForm::nfc},
                                                                {"NFD", NormalForm::nfd},
                                                                {"NFKC", NormalForm::nfkc},
                                                                {"NFKD", NormalForm::nfkd}};
  if (const auto form = kForms.find(type); form != kForms.end()) {
    part.kind = Kind::normal_form;
    part.form = form->second;
  } else if (type == "BertNormalizer") {
    part.kind = Kind::bert;
    part.bert.clean_text = json_flag(step, "clean_text", true);
    part.bert.handle_chinese_chars = json_flag(step, "handle_chinese_chars", true);
    part.bert.lowercase = json_flag(step, "lowercase", true);
    part.bert.strip_accents = json_flag(step, "strip_accents", part.bert.lowercase);
  } else if (type == "Lowercase") {
    part.kind = Kind::lowercase;
  } else if (type == "Strip") {
    part.kind = Kind::strip;
    part.left = json_flag(step, "strip_left", true);
    part.right = json_flag(step, "strip_right", true);
  } else if (type == "StripAccents") {
    part.kind = Kind::strip_accents;
  } else if (type == "Replace") {
    read_replace(step, part);
  } else if (type == "Precompiled") {
    const Json map = step.at("precompiled_charsmap");
    part.kind = Kind::precompiled;
    part.charsmap = Charsmap::from_base64(map.as_string(), map.where());
  } else if (type == "Prepend") {
    part.kind = Kind::prepend;
    part.content = step.at("prepend").as_string();
  } else {
    refuse_type(step);
  }
}

SplitBehaviour behaviour_of(Json value) {
  static const std::map<std::string_view, SplitBehaviour> kNames = {
      {"Removed", SplitBehaviour::removed},
      {"Isolated", SplitBehaviour::isolated},
      {"MergedWithPrevious", SplitBehaviour::merged_with_previous},
      {"MergedWithNext", SplitBehaviour::merged_with_next},
      {"Contiguous", SplitBehaviour::contiguous}};
  const auto found = kNames.find(value.as_string());
  if (found == kNames.end()) {
    unsupported(value, fmt::format("the behavior {} is not supported", value.describe()));
  }
  return found->second;
}

/// Metaspace of transformers 5 (prepend_scheme, split) or of older files (add_prefix_space).
void read_metaspace(Json step, PreTokenizerPart& part) {
  using Prepend = PreTokenizerPart::Prepend;
  part.kind = PreTokenizerPart::Kind::metaspace;
  part.replacement = character(step.at("replacement"));
  part.split = json_flag(step, "split", true);
  const auto scheme = step.find("prepend_scheme");
  if (!scheme || scheme->is_null()) {
    if (!json_flag(step, "add_prefix_space", true)) part.prepend = Prepend::never;
    return;
  }
  static const std::map<std::string_view, Prepend> kNames = {
      {"always", Prepend::always}, {"first", Prepend::first}, {"never", Prepend::never}};
  const auto found = kNames.find(scheme->as_string());
  if (found == kNames.end()) {
    unsupported(*scheme, fmt::format("{} is not supported, wants always, first or never",
                                     scheme->describe()));
  }
  part.prepend = found->second;
}

void read_split(Json step, PreTokenizerPart& part) {
  using Kind = PreTokenizerPart::Kind;
  const Json pattern = step.at("pattern");
  part.behaviour = behaviour_of(step.at("behavior"));
  part.invert = json_flag(step, "invert", false);
  part.kind = Kind::split_text;
  if (const auto text = literal(pattern)) {
    part.pattern = *text;
    return;
  }
  const Json regex = pattern.at("Regex");
  const auto words = find_word_pattern(regex.as_string());
  if (!words) {
    unsupported(regex, fmt::format("the pattern {} is not supported, wants that of GPT-2, Llama 3, "
                                   "Qwen or o200k or a String",
                                   regex.describe()));
  }
  part.kind = Kind::split_words;
  part.words = *words;
}

void read_pre_tokenizer(Json step, std::string_view type, PreTokenizerPart& part) {
  using Kind = PreTokenizerPart::Kind;
  static const std::map<std::string_view, Kind> kPlain = {
      {"BertPreTokenizer", Kind::bert},
      {"WhitespaceSplit", Kind::whitespace_split},
      {"Whitespace", Kind::whitespace}};
  if (const auto plain = kPlain.find(type); plain != kPlain.end()) {
    part.kind = plain->second;
  } else if (type == "ByteLevel") {
    part.kind = Kind::byte_level;
    part.add_prefix_space = json_flag(step, "add_prefix_space", true);
    part.use_regex = json_flag(step, "use_regex", true);
  } else if (type == "Metaspace") {
    read_metaspace(step, part);
  } else if (type == "Punctuation") {
    part.kind = Kind::punctuation;
    if (const auto value = step.find("behavior")) part.behaviour = behaviour_of(*value);
  } else if (type == "Split") {
    read_split(step, part);
  } else {
    refuse_type(step);
  }
}

size_t count(Json value) {
  const int64_t n = value.as_int();
  if (n < 0 || n > INT32_MAX) {
    throw Error(Error::Kind::data, value.where(), fmt::format("{} is no count", n));
  }
  return static_cast<size_t>(n);
}

void read_decoder(Json step, std::string_view type, DecoderPart& part) {
  using Kind = DecoderPart::Kind;
  if (type == "WordPiece") {
    part.kind = Kind::wordpiece;
    if (const auto prefix = step.find("prefix")) part.prefix = prefix->as_string();
    part.cleanup = json_flag(step, "cleanup", true);
  } else if (type == "ByteLevel") {
    part.kind = Kind::byte_level;
  } else if (type == "Metaspace") {
    PreTokenizerPart metaspace;
    read_metaspace(step, metaspace);
    part.kind = Kind::metaspace;
    part.replacement = metaspace.replacement;
    part.drops_first = metaspace.prepend != PreTokenizerPart::Prepend::never;
  } else if (type == "BPEDecoder") {
    part.kind = Kind::bpe;
    const auto suffix = step.find("suffix");
    part.suffix = suffix ? suffix->as_string() : "</w>";
  } else if (type == "ByteFallback") {
    part.kind = Kind::byte_fallback;
  } else if (type == "Fuse") {
    part.kind = Kind::fuse;
  } else if (type == "Strip") {
    part.kind = Kind::strip;
    part.content = character(step.at("content"));
    part.start = count(step.at("start"));
    part.stop = count(step.at("stop"));
  } else if (type == "Replace") {
    part.kind = Kind::replace;
    const auto text = literal(step.at("pattern"));
    if (!text) unsupported(step.at("pattern"), "a Regex is not supported here, wants a String");
    part.pattern = *text;
    part.content = step.at("content").as_string();
  } else {
    refuse_type(step);
  }
}

}  // namespace

bool json_flag(Json object, std::string_view key, bool fallback) {
  const auto value = object.find(key);
  return value && !value->is_null() ? value->as_bool() : fallback;
}

void for_each_part(Json part, std::string_view list, const std::function<void(Json)>& use) {
  if (part.at("type").as_string() != "Sequence") return use(part);
  part.at(list).for_each_element([&](Json inner) { for_each_part(inner, list, use); });
}

void refuse_type(Json part) {
  const Json type = part.at("type");
  throw Error(Error::Kind::unsupported, type.where(),
              fmt::format("{} is not supported", type.describe()));
}

std::vector<NormalizerPart> read_normalizers(Json root) {
  return read_parts<NormalizerPart>(root, "normalizer", "normalizers", read_normalizer);
}

std::vector<PreTokenizerPart> read_pre_tokenizers(Json root) {
  return read_parts<PreTokenizerPart>(root, "pre_tokenizer", "pretokenizers", read_pre_tokenizer);
}

std::vector<DecoderPart> read_decoders(Json root) {
  return read_parts<DecoderPart>(root, "decoder", "decoders", read_decoder);
}

}  // namespace bert
