#include "tokenizer/files/tokenizer_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "directory/file_names.h"
#include "io/json.h"
#include "tokenizer/files/parts_json.h"
#include "tokenizer/files/tokenizer_json.h"

namespace bert {
namespace {

[[noreturn]] void bad(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::data, where, what);
}

/// The files that a vocabulary is read from; the first row whose files are all there counts.
/// Behind them come the models of sentencepiece.
constexpr struct {
  VocabularyFiles kind;
  std::string_view first, second;
} kVocabularies[] = {
    {VocabularyFiles::marian, file_names::kSourcePieces, ""},
    {VocabularyFiles::tokenizer_json, file_names::kTokenizer, ""},
    {VocabularyFiles::vocab_json, file_names::kVocabJson, file_names::kMerges},
    {VocabularyFiles::vocab_txt, file_names::kVocabTxt, ""},
};

/// Fills the kind of the vocabulary and its first file; false if there is none.
bool find_vocabulary(TokenizerFacts& facts) {
  const auto has = [&](std::string_view name) { return facts.directory.has(name); };
  for (const auto& row : kVocabularies) {
    if (facts.alone() && row.kind != VocabularyFiles::tokenizer_json) continue;
    if (!has(row.first) || !(row.second.empty() || has(row.second))) continue;
    facts.vocabulary = row.kind;
    facts.vocabulary_file = row.first;
    return true;
  }
  for (const ModelFile& file : kModelFiles) {
    if (facts.alone() || file.role != FileRole::pieces || !has(file.name)) continue;
    facts.vocabulary = VocabularyFiles::sentencepiece;
    facts.vocabulary_file = file.name;
    return true;
  }
  return false;
}

/// The facts that no file has to be opened for.
TokenizerFacts look(const ModelDirectory& directory, TokenizerSide side) {
  TokenizerFacts facts;
  facts.directory = directory;
  facts.side = side;
  if (!find_vocabulary(facts)) {
    throw Error(Error::Kind::no_input, directory.path(),
                facts.alone() ? "has no tokenizer.json"
                              : "has no tokenizer.json, no vocab.json with merges.txt, no "
                                "vocab.txt and no model of sentencepiece");
  }
  facts.bare = facts.alone() || (facts.vocabulary == VocabularyFiles::tokenizer_json &&
                                 !directory.has(file_names::kTokenizerConfig) &&
                                 !directory.has(file_names::kConfig));
  return facts;
}

// tokenizer_config.json

const TokenizerClass* read_class(Json config) {
  const auto name = config.find("tokenizer_class");
  if (!name || name->is_null()) return nullptr;
  std::string_view text = name->as_string();
  if (const TokenizerClass* row = find_class(text)) return row;
  if (text.ends_with("Fast")) text.remove_suffix(4);
  throw Error(Error::Kind::unsupported, name->where(),
              fmt::format("the tokenizer {} is not supported; {}Fast is what tokenizer.json says",
                          printable(text), any_class().name));
}

size_t read_count(Json value) {
  const auto count = value.try_int();
  if (!count || *count < 0 || *count > 10000) {
    bad(value.where(), fmt::format("{} is no count, wants 0 to 10000", value.describe()));
  }
  return static_cast<size_t>(*count);
}

TokenizerFlags read_flags(Json config, const TokenizerClass* named) {
  const auto get = [&](std::string_view key) -> std::optional<bool> {
    const auto value = config.find(key);
    if (!value || value->is_null()) return std::nullopt;
    return value->as_bool();
  };
  TokenizerFlags flags;
  flags.add_prefix_space = get("add_prefix_space");
  flags.trim_offsets = get("trim_offsets");
  flags.add_bos_token = get("add_bos_token");
  flags.add_eos_token = get("add_eos_token");
  flags.keep_accents = get("keep_accents");
  flags.split_by_punct = get("split_by_punct");
  if (!named || named->source == ClassSource::wordpiece || named->sentencepiece) {
    flags.lowercase = get("do_lower_case");
    flags.handle_chinese_chars = get("tokenize_chinese_chars");
    flags.strip_accents = get("strip_accents");
  }
  flags.separate_vocabs = get("separate_vocabs");
  flags.legacy_behaviour = get("legacy_behaviour");
  if (named && (named->rebuild || named->sentencepiece)) {
    flags.legacy = get("legacy");
    if (const auto count = config.find("extra_ids")) flags.sentinels = read_count(*count);
  }
  return flags;
}

bool read_truncates_left(Json config) {
  const auto side = config.find("truncation_side");
  if (!side || side->is_null()) return false;
  const bool left = side->as_string() == "left";
  if (!left && side->as_string() != "right") {
    bad(side->where(), fmt::format("found {}, wants left or right", side->describe()));
  }
  return left;
}

std::optional<size_t> read_max_length(Json config) {
  const auto limit = config.find("model_max_length");
  if (!limit || limit->is_null()) return std::nullopt;
  const double value = limit->as_double();
  if (!(value >= 1)) bad(limit->where(), fmt::format("{} is no length", limit->describe()));
  if (value > 1e9) return std::nullopt;
  return static_cast<size_t>(value);
}

/// The tokens of a list, sorted by id.
std::vector<WantedToken> by_id(std::vector<WantedToken> tokens) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const WantedToken& a, const WantedToken& b) { return a.id < b.id; });
  return tokens;
}

/// added_tokens_decoder, ids with their tokens.
std::vector<WantedToken> read_tokens_by_id(Json decoder) {
  std::vector<WantedToken> tokens;
  decoder.for_each_member([&](std::string_view key, Json value) {
    int64_t id = 0;
    for (const char c : key) {
      if (c < '0' || c > '9' || id > INT32_MAX)
        bad(value.where(), "is named by something that is no token id");
      id = id * 10 + (c - '0');
    }
    tokens.push_back({read_added_token(value, false), id, value.where()});
  });
  return by_id(std::move(tokens));
}

// tokenizer_config.json and special_tokens_map.json

/// Special tokens by name, and others that are listed.
struct NamedTokens {
  BySpecial<std::optional<std::string>> said;
  std::vector<WantedToken> wanted;
};

NamedTokens read_named_tokens(Json source) {
  NamedTokens tokens;
  for (size_t i = 0; i < kSpecialKeys.size(); ++i) {
    const auto value = source.find(std::string(kSpecialKeys[i]) + "_token");
    if (!value || value->is_null()) continue;
    const AddedToken token = read_added_token(*value, true);
    tokens.said.values[i] = token.content;
    if (static_cast<Special>(i) >= Special::bos) continue;
    if (token.content.empty()) bad(value->where(), "is empty");
    if (!value->is_string()) tokens.wanted.push_back({token, std::nullopt, value->where()});
  }
  for (const std::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto value = source.find(key);
    if (!value || value->is_null()) continue;
    const auto add = [&](Json item) {
      tokens.wanted.push_back({read_added_token(item, true), std::nullopt, item.where()});
    };
    if (value->is_array()) {
      value->for_each_element(add);
    } else {
      value->for_each_member([&](std::string_view, Json item) { add(item); });
    }
  }
  return tokens;
}

/// The facts with what another file says too.
TokenizerFacts with(TokenizerFacts facts, NamedTokens tokens) {
  for (size_t i = 0; i < kSpecialKeys.size(); ++i) {
    auto& said = tokens.said.values[i];
    if (said) facts.said.values[i] = std::move(said);
  }
  std::move(tokens.wanted.begin(), tokens.wanted.end(), std::back_inserter(facts.wanted));
  return facts;
}

/// The facts with tokens that get ids before those that have a name, whose flags they set.
TokenizerFacts with_first(TokenizerFacts facts, std::vector<WantedToken> tokens) {
  facts.wanted.insert(facts.wanted.begin(), tokens.begin(), tokens.end());
  return facts;
}

/// A text of the configuration; "": it is not there.
std::string text_at(Json config, std::string_view key) {
  const auto value = config.find(key);
  return value && value->is_string() ? std::string(value->as_string()) : "";
}

TokenizerFacts with_config(TokenizerFacts facts, Json config) {
  facts.named = read_class(config);
  facts.flags = read_flags(config, facts.named);
  facts.text_cleanup = json_flag(config, "clean_up_tokenization_spaces", false);
  facts.truncates_left = read_truncates_left(config);
  facts.model_max_length = read_max_length(config);
  facts.source_language = text_at(config, "src_lang");
  facts.target_language = text_at(config, "tgt_lang");
  facts.language_codes = text_at(config, "language_codes");
  facts = with(std::move(facts), read_named_tokens(config));
  const auto decoder = config.find("added_tokens_decoder");
  facts.lists_tokens = decoder.has_value();
  return decoder ? with_first(std::move(facts), read_tokens_by_id(*decoder)) : facts;
}

// Other files

/// The facts with the class of the model's type, where tokenizer_config.json names none, or where
/// transformers does not take the one that it names.
TokenizerFacts with_type(TokenizerFacts facts, Json config) {
  const auto type = config.find("model_type");
  if (!type || !type->is_string()) return facts;
  if (!facts.named) {
    facts.of_type = class_of_type(type->as_string());
    // A class that builds its tokenizer anew does so unnamed, too.
    if (facts.of_type && facts.of_type->rebuild) facts.named = facts.of_type;
  } else if (facts.named->rebuild && is_written_type(type->as_string())) {
    facts.named = &any_class();
  }
  return facts;
}

/// added_tokens.json. A token is special if it is one of `names` or of `wanted`.
std::vector<WantedToken> read_added_tokens(Json root, const SpecialNames& names,
                                           const std::vector<WantedToken>& wanted) {
  std::vector<WantedToken> tokens;
  root.for_each_member([&](std::string_view content, Json value) {
    AddedToken token;
    token.content = content;
    const auto id = value.try_int();
    if (!id || *id < 0) bad(value.where(), fmt::format("{} is no token id", value.describe()));
    for (const Special s : kNamedTokens) token.special |= token.content == names[s];
    for (const WantedToken& other : wanted) token.special |= other.token.content == content;
    token.normalized = !token.special;
    tokens.push_back({token, id, value.where()});
  });
  return by_id(std::move(tokens));
}

}  // namespace

const TokenizerClass& TokenizerFacts::row() const {
  if (named) return *named;
  const bool of_vocab_txt = of_type && (of_type->source == ClassSource::wordpiece ||
                                        of_type->source == ClassSource::listed);
  return of_vocab_txt ? *of_type : bert_class();
}

SpecialNames TokenizerFacts::names(const BySpecial<std::string_view>& of_class) const {
  SpecialNames names;
  for (size_t i = 0; i < kSpecialKeys.size(); ++i) {
    names.values[i] = said.values[i].value_or(std::string(of_class.values[i]));
  }
  return names;
}

TokenizerFacts read_tokenizer_facts(const ModelDirectory& directory, TokenizerSide side) {
  TokenizerFacts facts = look(directory, side);
  if (facts.alone()) return facts;
  if (const auto config = directory.find(file_names::kTokenizerConfig)) {
    facts = with_config(std::move(facts), config->root());
  }
  if (const auto config = directory.find(file_names::kConfig);
      config && (!facts.named || facts.named->rebuild)) {
    facts = with_type(std::move(facts), config->root());
  }
  if (facts.lists_tokens) return facts;
  if (const auto map = directory.find(file_names::kSpecialTokensMap)) {
    facts = with(std::move(facts), read_named_tokens(map->root()));
  }
  if (const auto added = directory.find(file_names::kAddedTokens)) {
    const bool own = facts.row().source == ClassSource::wordpiece;
    const SpecialNames names = facts.names(own ? facts.row().names : kBertNames);
    std::vector<WantedToken> tokens = read_added_tokens(added->root(), names, facts.wanted);
    facts = with_first(std::move(facts), std::move(tokens));
  }
  return facts;
}

}  // namespace bert
