#include "tokenizer/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "directory/file_names.h"
#include "io/json.h"
#include "tokenizer/merges_txt.h"
#include "tokenizer/parts_json.h"
#include "tokenizer/sentencepiece_parts.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/vocab_txt.h"

namespace bert {
namespace {

[[noreturn]] void bad(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::data, where, what);
}

/// Reads the files of one directory; the order of its steps is that of the reference.
class Reader {
 public:
  Reader(const ModelDirectory& directory, bool alone, bool target = false)
      : directory_(directory), alone_(alone), target_(target) {}
  TokenizerFiles read();

 private:
  bool has(std::string_view name) const { return directory_.has(name); }
  std::string path(std::string_view name) const { return directory_.file(name); }
  const JsonDocument* open_json(std::string_view name) const { return directory_.find(name); }

  void read_config();
  void choose_class(Json config);
  void choose_class_of_model();
  void take_names_of_roberta();
  void read_flags(Json config);
  void read_named_tokens(Json source);
  void read_config_tokens(Json config);
  void read_added_tokens_json();

  void use_vocab_txt();
  void use_vocab_json();
  void use_sentencepiece(std::string_view name);
  void use_marian();
  void want_named(const std::vector<std::optional<std::string>>& names);
  void use_tokenizer_json();
  void settle_class(const TokenizerJson& json);
  void use_frame(TokenizerJson& json);
  void use_decoder(TokenizerJson& json);
  void use_parts(TokenizerParts parts);
  void merge_flags(const TokenizerJson& json);
  void take_known_names();

  void add_token(AddedToken token, std::optional<int64_t> wanted_id, const std::string& where);
  void settle_special_tokens();
  void settle_frames();
  [[noreturn]] void no_token(const std::string& name) const;
  void check_case();

  const ModelDirectory& directory_;
  const bool alone_;    ///< tokenizer.json says all, whatever stands beside it
  const bool target_;   ///< of Marian's two tokenizers that of the target
  std::string source_;  ///< the file that the vocabulary came from
  TokenizerFiles files_;
  struct Wanted {
    AddedToken token;
    std::optional<int64_t> id;
    std::string where;
  };
  std::vector<Wanted> wanted_;                     ///< added tokens of the configuration
  std::unordered_map<std::string, size_t> index_;  ///< of files_.added_tokens by content
  struct Flags {
    std::optional<bool> lowercase;
    std::optional<bool> handle_chinese_chars;
    std::optional<bool> strip_accents;
    std::optional<bool> keep_accents;
    std::optional<bool> split_by_punct;
    std::optional<bool> add_prefix_space;
    std::optional<bool> trim_offsets;
    std::optional<bool> separate_vocabs;
  } flags_;
  std::optional<SentencePieceClass> sentencepiece_;  ///< what a model of sentencepiece is read as
  std::optional<std::string> bos_token_, eos_token_;
  bool config_names_tokens_ = false;
  /// What transformers builds: the tokenizer of BERT or MPNet, or what tokenizer.json says, where
  /// RoBERTa's takes the blank before a text from the configuration.
  enum class Class { bert, mpnet, roberta, as_written };
  Class class_ = Class::bert;
  bool class_named_ = false;
  std::string class_name_;
  bool any_class_ = false;              ///< a class without special tokens of its own
  std::set<const std::string*> named_;  ///< which of files_'s names the configuration says
  bool bare_ = false;  ///< a tokenizer.json that no model and no class is with: it says all
};

TokenizerFiles Reader::read() {
  const bool json = has(file_names::kTokenizer);
  if (!json && alone_) {
    throw Error(Error::Kind::no_input, directory_.path(), "has no tokenizer.json");
  }
  const bool merges = has(file_names::kVocabJson) && has(file_names::kMerges);
  const bool words = has(file_names::kVocabTxt);
  const auto* model = std::find_if(
      std::begin(kModelFiles), std::end(kModelFiles),
      [&](const ModelFile& file) { return file.role == FileRole::pieces && has(file.name); });
  const bool marian = !alone_ && has(file_names::kSourcePieces);
  const bool pieces = !marian && !json && !merges && !words && model != std::end(kModelFiles);
  if (!marian && !json && !merges && !words && !pieces) {
    throw Error(Error::Kind::no_input, directory_.path(),
                "has no tokenizer.json, no vocab.json with merges.txt, no vocab.txt and no model "
                "of sentencepiece");
  }
  bare_ = alone_ || (json && !has(file_names::kTokenizerConfig) && !has(file_names::kConfig));
  if (bare_) class_ = Class::as_written;
  if (!alone_) read_config();
  if (marian) {
    use_marian();
  } else if (json) {
    use_tokenizer_json();
  } else if (merges) {
    use_vocab_json();
  } else if (pieces) {
    use_sentencepiece(model->name);
  } else {
    use_vocab_txt();
  }
  settle_special_tokens();
  settle_frames();
  if (!files_.parts && !files_.sentencepiece) check_case();
  return std::move(files_);
}

// tokenizer_config.json, special_tokens_map.json, added_tokens.json

void Reader::read_config() {
  if (const auto config = open_json(file_names::kTokenizerConfig)) {
    const Json root = config->root();
    read_flags(root);
    read_named_tokens(root);
    read_config_tokens(root);
  }
  if (!class_named_) choose_class_of_model();
  if (!config_names_tokens_) {
    if (const auto map = open_json(file_names::kSpecialTokensMap)) read_named_tokens(map->root());
    read_added_tokens_json();
  }
}

/// transformers builds the tokenizers of BERT and MPNet anew from the vocabulary and the flags,
/// whatever else tokenizer.json says; those without a class of their own are what tokenizer.json
/// says; all others have rules of their own.
void Reader::choose_class(Json config) {
  static constexpr std::array kOfBert = {"BertTokenizer",
                                         "DistilBertTokenizer",
                                         "ElectraTokenizer",
                                         "MobileBertTokenizer",
                                         "ConvBertTokenizer",
                                         "LayoutLMTokenizer",
                                         "LxmertTokenizer",
                                         "SqueezeBertTokenizer",
                                         "DPRQuestionEncoderTokenizer",
                                         "DPRContextEncoderTokenizer",
                                         "DPRReaderTokenizer"};
  static constexpr std::array kOfRoberta = {"RobertaTokenizer", "LongformerTokenizer",
                                            "BartTokenizer", "GPT2Tokenizer", "DebertaTokenizer"};
  static constexpr std::array kAsWritten = {
      "XLMRobertaTokenizer", "CamembertTokenizer", "AlbertTokenizer", "DebertaV2Tokenizer",
      "BigBirdTokenizer",    "RemBertTokenizer",   "MarianTokenizer"};
  static constexpr std::array kOfAny = {"PreTrainedTokenizer", "TokenizersBackend",
                                        "RetriBertTokenizer", "NezhaTokenizer", "ErnieTokenizer"};
  const auto name = config.find("tokenizer_class");
  if (!name || name->is_null()) return;
  std::string_view text = name->as_string();
  if (text.ends_with("Fast")) text.remove_suffix(4);
  const auto among = [&](const auto& names) {
    return std::find(names.begin(), names.end(), text) != names.end();
  };
  class_named_ = true;
  class_name_ = text;
  sentencepiece_ = sentencepiece_class(text);
  if (among(kOfBert)) return;
  class_ = text == "MPNetTokenizer" ? Class::mpnet
           : among(kOfRoberta)      ? Class::roberta
                                    : Class::as_written;
  if (class_ == Class::mpnet) return take_names_of_roberta();
  any_class_ = among(kOfAny);
  if (class_ == Class::roberta || among(kAsWritten) || any_class_) return;
  throw Error(Error::Kind::unsupported, name->where(),
              fmt::format("the tokenizer {} is not supported; PreTrainedTokenizerFast is what "
                          "tokenizer.json says",
                          printable(text)));
}

/// Where tokenizer_config.json names no class, transformers takes the model's own, which is called
/// as the model's type is, but for capitals.
void Reader::choose_class_of_model() {
  constexpr std::string_view kClass = "MPNetTokenizer";
  const auto config = open_json(file_names::kConfig);
  const auto type = config ? config->root().find("model_type") : std::nullopt;
  if (!type || !type->is_string()) return;
  const std::string name = std::string(type->as_string()) + "Tokenizer";
  sentencepiece_ = sentencepiece_class(name);
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  if (!std::equal(name.begin(), name.end(), kClass.begin(), kClass.end(), same)) return;
  class_ = Class::mpnet;
  take_names_of_roberta();
}

/// The special tokens of RoBERTa and MPNet, where the configuration does not say otherwise.
void Reader::take_names_of_roberta() {
  const std::pair<std::string*, const char*> names[] = {{&files_.sep_token, "</s>"},
                                                        {&files_.pad_token, "<pad>"},
                                                        {&files_.cls_token, "<s>"},
                                                        {&files_.mask_token, "<mask>"}};
  for (const auto& [name, default_name] : names) {
    if (!named_.contains(name)) *name = default_name;
  }
}

void Reader::read_flags(Json config) {
  choose_class(config);
  const auto get = [&](std::string_view key) -> std::optional<bool> {
    const auto value = config.find(key);
    if (!value || value->is_null()) return std::nullopt;
    return value->as_bool();
  };
  flags_.add_prefix_space = get("add_prefix_space");
  flags_.trim_offsets = get("trim_offsets");
  flags_.keep_accents = get("keep_accents");
  flags_.split_by_punct = get("split_by_punct");
  if (class_ == Class::bert || class_ == Class::mpnet || sentencepiece_) {
    flags_.lowercase = get("do_lower_case");
    flags_.handle_chinese_chars = get("tokenize_chinese_chars");
    flags_.strip_accents = get("strip_accents");
  }
  flags_.separate_vocabs = get("separate_vocabs");
  files_.text_cleanup = json_flag(config, "clean_up_tokenization_spaces", false);
  if (const auto side = config.find("truncation_side"); side && !side->is_null()) {
    files_.truncates_left = side->as_string() == "left";
    if (!files_.truncates_left && side->as_string() != "right") {
      throw Error(Error::Kind::data, side->where(),
                  fmt::format("found {}, wants left or right", side->describe()));
    }
  }
  if (const auto limit = config.find("model_max_length"); limit && !limit->is_null()) {
    const double value = limit->as_double();
    if (!(value >= 1)) bad(limit->where(), fmt::format("{} is no length", limit->describe()));
    if (value <= 1e9) files_.model_max_length = static_cast<size_t>(value);
  }
}

void Reader::read_named_tokens(Json source) {
  const std::pair<std::string_view, std::string*> named[] = {{"unk_token", &files_.unk_token},
                                                             {"sep_token", &files_.sep_token},
                                                             {"pad_token", &files_.pad_token},
                                                             {"cls_token", &files_.cls_token},
                                                             {"mask_token", &files_.mask_token}};
  for (const auto& [key, name] : named) {
    const auto value = source.find(key);
    if (!value || value->is_null()) continue;
    const AddedToken token = read_added_token(*value, true);
    if (token.content.empty()) bad(value->where(), "is empty");
    *name = token.content;
    named_.insert(name);
    if (!value->is_string()) wanted_.push_back({token, std::nullopt, value->where()});
  }
  for (const auto& [key, name] :
       {std::pair{"bos_token", &bos_token_}, {"eos_token", &eos_token_}}) {
    const auto value = source.find(key);
    if (value && !value->is_null()) *name = read_added_token(*value, true).content;
  }
  for (const std::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto value = source.find(key);
    if (!value || value->is_null()) continue;
    const auto add = [&](Json item) {
      wanted_.push_back({read_added_token(item, true), std::nullopt, item.where()});
    };
    if (value->is_array()) {
      value->for_each_element(add);
    } else {
      value->for_each_member([&](std::string_view, Json item) { add(item); });
    }
  }
}

void Reader::read_config_tokens(Json config) {
  const auto decoder = config.find("added_tokens_decoder");
  if (!decoder) return;
  config_names_tokens_ = true;
  std::vector<Wanted> tokens;
  decoder->for_each_member([&](std::string_view key, Json value) {
    int64_t id = 0;
    for (char c : key) {
      if (c < '0' || c > '9' || id > INT32_MAX)
        bad(value.where(), "is named by something that is no token id");
      id = id * 10 + (c - '0');
    }
    tokens.push_back({read_added_token(value, false), id, value.where()});
  });
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Wanted& a, const Wanted& b) { return a.id < b.id; });
  // They come before the tokens with a name, whose flags they set.
  wanted_.insert(wanted_.begin(), tokens.begin(), tokens.end());
}

void Reader::read_added_tokens_json() {
  const auto document = open_json(file_names::kAddedTokens);
  if (!document) return;
  const Json root = document->root();
  std::vector<Wanted> tokens;
  root.for_each_member([&](std::string_view content, Json value) {
    AddedToken token;
    token.content = content;
    const auto id = value.try_int();
    if (!id || *id < 0) bad(value.where(), fmt::format("{} is no token id", value.describe()));
    for (const std::string* name : {&files_.unk_token, &files_.sep_token, &files_.pad_token,
                                    &files_.cls_token, &files_.mask_token}) {
      if (token.content == *name) token.special = true;
    }
    for (const Wanted& wanted : wanted_) token.special |= wanted.token.content == token.content;
    token.normalized = !token.special;
    tokens.push_back({token, id, value.where()});
  });
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Wanted& a, const Wanted& b) { return a.id < b.id; });
  wanted_.insert(wanted_.begin(), tokens.begin(), tokens.end());
}

// The vocabulary

void Reader::use_vocab_txt() {
  source_ = path(file_names::kVocabTxt);
  files_.vocab = Vocab("##", files_.wordpiece.max_input_chars_per_word * 4);
  read_vocab_txt(source_, files_.vocab, files_.warnings);
  const bool lowercase = flags_.lowercase.value_or(true);
  files_.wordpiece.normalizer = {true, flags_.handle_chinese_chars.value_or(true),
                                 flags_.strip_accents.value_or(lowercase), lowercase};
  files_.lowercase = lowercase;
  files_.decoders.emplace_back();
}

/// RoBERTa's tokenizer, as transformers builds it of these two files.
void Reader::use_vocab_json() {
  source_ = path(file_names::kVocabJson);
  if (class_ != Class::roberta && class_named_) {
    throw Error(Error::Kind::unsupported, path(file_names::kTokenizerConfig),
                fmt::format("the tokenizer {} without a tokenizer.json is not supported, wants "
                            "RobertaTokenizer for vocab.json and merges.txt",
                            printable(class_name_)));
  }
  class_ = Class::roberta;
  take_names_of_roberta();
  if (!named_.contains(&files_.unk_token)) files_.unk_token = "<unk>";
  const JsonDocument document = JsonDocument::open(source_, kLargestVocabulary, kManyKeys);
  files_.vocab = read_vocabulary(document.root(), Vocab("", 0));
  TokenizerParts parts;
  parts.model.kind = SubwordPart::Kind::bpe;
  parts.model.where = path(file_names::kMerges);
  parts.model.merges = read_merges_txt(parts.model.where);
  parts.pre_tokenizers.emplace_back().kind = PreTokenizerPart::Kind::byte_level;
  parts.decoders.emplace_back().kind = DecoderPart::Kind::byte_level;
  parts.has_decoder = true;
  files_.frames = Frames::of_roberta(files_.cls_token, files_.sep_token);
  files_.trim_offsets = true;
  files_.decoders = parts.decoders;
  use_parts(std::move(parts));
}

/// A model file of sentencepiece, as the class that is named makes a tokenizer of it.
void Reader::use_sentencepiece(std::string_view name) {
  source_ = path(name);
  if (!sentencepiece_) {
    throw Error(
        Error::Kind::unsupported, source_,
        fmt::format("is read for XLMRobertaTokenizer, CamembertTokenizer, AlbertTokenizer "
                    "and DebertaV2Tokenizer, {}",
                    class_named_ ? fmt::format("not for {}", printable(class_name_))
                                 : "and tokenizer_config.json and config.json name none of them"));
  }
  class_ = Class::as_written;
  SentencePieceOptions options = default_options(*sentencepiece_);
  const std::pair<std::string*, std::string*> names[] = {{&options.unk, &files_.unk_token},
                                                         {&options.sep, &files_.sep_token},
                                                         {&options.pad, &files_.pad_token},
                                                         {&options.cls, &files_.cls_token},
                                                         {&options.mask, &files_.mask_token}};
  for (const auto& [option, token] : names) {
    if (named_.contains(token)) *option = *token;
    *token = *option;
  }
  options.bos = bos_token_.value_or(options.bos);
  options.eos = eos_token_.value_or(options.eos);
  options.lowercase = flags_.lowercase;
  options.keep_accents = flags_.keep_accents;
  options.split_by_punct = flags_.split_by_punct;
  options.add_prefix_space = flags_.add_prefix_space;
  SentencePieceTokenizer made =
      make_tokenizer(read_sentencepiece_file(source_), *sentencepiece_, options, source_);
  files_.vocab = std::move(made.vocab);
  files_.frames = std::move(made.frames);
  files_.lowercase = made.lowercase;
  files_.decoders = made.parts.decoders;
  files_.parts = std::move(made.parts);
  for (AddedToken& token : made.added) wanted_.push_back({std::move(token), {}, source_});
}

/// Marian's tokenizer of the source or of the target, as MarianTokenizer is composed.
void Reader::use_marian() {
  if (class_named_ && class_name_ != "MarianTokenizer" && !any_class_) {
    throw Error(Error::Kind::unsupported, path(file_names::kSourcePieces),
                fmt::format("is read for MarianTokenizer, not for {}", printable(class_name_)));
  }
  class_ = Class::as_written;
  const bool own = target_ && flags_.separate_vocabs.value_or(false);
  const std::string_view vocab = own ? file_names::kTargetVocab : file_names::kVocabJson;
  source_ = path(vocab);
  const auto document = directory_.large_document(vocab, kLargestVocabulary, kManyKeys);
  files_.vocab = read_vocabulary(document->root(), Vocab("", 0));
  const std::string model = path(target_ ? file_names::kTargetPieces : file_names::kSourcePieces);
  SentencePieceFile file = read_sentencepiece_file(model);
  if (file.has_denormalizer) {
    throw Error(Error::Kind::unsupported, model,
                "has a denormalizer_spec with replacements, which is not supported");
  }
  files_.sentencepiece = std::make_shared<const SentencePiece>(std::move(file), model);
  if (!named_.contains(&files_.unk_token)) files_.unk_token = "<unk>";
  if (!named_.contains(&files_.pad_token)) files_.pad_token = "<pad>";
  if (files_.vocab.find(files_.unk_token) < 0) no_token(files_.unk_token);
  const std::string eos = eos_token_.value_or("</s>");
  const auto named = [&](const std::string& name) {
    return named_.contains(&name) ? std::optional(name) : std::nullopt;
  };
  want_named({bos_token_, eos, files_.unk_token, named(files_.sep_token), files_.pad_token,
              named(files_.cls_token), named(files_.mask_token)});
  if (files_.vocab.find(eos) < 0) no_token(eos);
  files_.frames.single.after = files_.frames.pair.after = {{eos, 0, -1}};
  if (!named(files_.sep_token)) files_.sep_token = eos;
}

/// Special tokens with a name, which get ids in this order where the vocabulary has none for them,
/// before others without an id.
void Reader::want_named(const std::vector<std::optional<std::string>>& names) {
  auto place = std::find_if(wanted_.begin(), wanted_.end(), [](const Wanted& w) { return !w.id; });
  for (const std::optional<std::string>& name : names) {
    if (!name) continue;
    const auto known = std::find_if(place, wanted_.end(),
                                    [&](const Wanted& w) { return w.token.content == *name; });
    if (known == wanted_.end()) {
      AddedToken token;
      token.content = *name;
      token.special = true;
      place = wanted_.insert(place, {std::move(token), std::nullopt, source_});
    } else {
      std::rotate(place, known, known + 1);
    }
    ++place;
  }
  for (Wanted& wanted : wanted_) wanted.token.normalized = false;
}

void Reader::use_tokenizer_json() {
  source_ = path(file_names::kTokenizer);
  TokenizerJson json = read_tokenizer_json(source_, !alone_);
  files_.vocab = std::move(json.vocab);
  settle_class(json);
  if (class_ == Class::roberta || class_ == Class::as_written) use_frame(json);
  use_decoder(json);
  if (json.of_bert) {
    merge_flags(json);
  } else {
    use_parts(std::move(json.parts));
  }
  std::vector<Wanted> tokens;
  for (TokenizerJson::Added& added : json.added_tokens) {
    tokens.push_back({std::move(added.token), added.id, std::move(added.where)});
  }
  // added_tokens_decoder of the configuration comes first, where there is one.
  wanted_.insert(config_names_tokens_ ? wanted_.end() : wanted_.begin(), tokens.begin(),
                 tokens.end());
  if (alone_ || !has(file_names::kVocabTxt)) return;
  if (const size_t line = first_difference(path(file_names::kVocabTxt), files_.vocab); line > 0) {
    files_.warnings.push_back(fmt::format(
        "{}: differs from vocab.txt from line {} on; tokenizer.json is used", source_, line));
  }
}

/// A file without a class says itself what it is.
void Reader::settle_class(const TokenizerJson& json) {
  if (class_ != Class::bert && class_ != Class::mpnet) return;
  if (!json.of_bert) {
    if (class_named_) {
      throw Error(Error::Kind::unsupported, source_,
                  fmt::format("the tokenizer_class {} is BERT's WordPiece, and this file has other "
                              "parts, which is not supported; wants PreTrainedTokenizerFast",
                              printable(class_name_)));
    }
    class_ = Class::as_written;
  } else if (json.of_roberta && !class_named_) {
    class_ = Class::mpnet;
    take_names_of_roberta();
  }
}

void Reader::use_decoder(TokenizerJson& json) {
  files_.decoders = json.parts.decoders;
  files_.has_decoder = json.parts.has_decoder;
  if (!json.of_bert || files_.has_decoder) return;
  files_.decoders.emplace_back();
  files_.has_decoder = true;
}

/// The parts, where RoBERTa's class takes add_prefix_space and trim_offsets of the configuration or
/// their defaults, as in transformers.
void Reader::use_parts(TokenizerParts parts) {
  if (class_ == Class::roberta) {
    const bool prefix = flags_.add_prefix_space.value_or(false);
    for (PreTokenizerPart& part : parts.pre_tokenizers) part.add_prefix_space = prefix;
    if (files_.trim_offsets) files_.trim_offsets = flags_.trim_offsets.value_or(true);
    files_.add_prefix_space = prefix;
  }
  for (const NormalizerPart& part : parts.normalizers) {
    files_.lowercase |= part.kind == NormalizerPart::Kind::lowercase ||
                        (part.kind == NormalizerPart::Kind::bert && part.bert.lowercase);
  }
  // transformers cleans up no text of BPE, whatever the configuration says.
  if (parts.model.kind == SubwordPart::Kind::bpe) files_.text_cleanup = false;
  if (!alone_) take_known_names();
  files_.parts = std::move(parts);
}

/// Names of special tokens that the configuration does not say: those that the vocabulary has.
void Reader::take_known_names() {
  const std::pair<std::string*, std::array<const char*, 2>> names[] = {
      {&files_.unk_token, {"<unk>", "[UNK]"}},
      {&files_.sep_token, {"</s>", "[SEP]"}},
      {&files_.pad_token, {"<pad>", "[PAD]"}},
      {&files_.cls_token, {"<s>", "[CLS]"}},
      {&files_.mask_token, {"<mask>", "[MASK]"}}};
  for (const auto& [name, choices] : names) {
    if (named_.contains(name) || files_.vocab.find(*name) >= 0) continue;
    for (const char* choice : choices) {
      if (files_.vocab.find(choice) >= 0) *name = choice;
    }
  }
}

/// The special tokens of tokenizer.json, which count where no class has its own.
void Reader::use_frame(TokenizerJson& json) {
  // A model without one has none, whatever the vocabulary holds.
  if (alone_ && !json.of_bert) files_.unk_token.clear();
  files_.unk_token = json.parts.model.unk_token.value_or(files_.unk_token);
  files_.trim_offsets = json.trim_offsets;
  files_.add_prefix_space = json.add_prefix_space;
  if (alone_) {
    if (json.truncates_left) {
      throw Error(Error::Kind::unsupported, source_,
                  "truncation from the left is not supported, wants the direction Right");
    }
    files_.model_max_length = json.truncation;
    return;
  }
  if (!json.of_bert && !json.frames) return;
  if (json.frames && json.of_bert &&
      (json.frames->single.added() == 0 || json.frames->pair.added() == 0)) {
    throw Error(Error::Kind::unsupported, source_,
                "post_processor: a template without special tokens is not supported");
  }
  if (!json.frames) {
    if (bare_) return;
    throw Error(Error::Kind::unsupported, source_,
                "post_processor is null: no [CLS] and [SEP] around a text is not supported, unless "
                "tokenizer_class is BertTokenizer, which has them");
  }
  files_.frames = std::move(*json.frames);
  const Frame& single = files_.frames.single;
  if (!single.before.empty()) files_.cls_token = single.before.front().token;
  if (!single.after.empty()) files_.sep_token = single.after.back().token;
}

/// A class of BERT or MPNet takes the flags of the configuration or their defaults, as in
/// transformers.
void Reader::merge_flags(const TokenizerJson& json) {
  const NormalizerOptions& written = json.parts.normalizers[0].bert;
  const size_t longest_word = json.parts.model.max_chars_per_word;
  files_.lowercase = written.lowercase;
  if (class_ == Class::as_written || class_ == Class::roberta) {
    files_.wordpiece.max_input_chars_per_word = longest_word;
    files_.wordpiece.normalizer = written;
    return;
  }
  if (longest_word != files_.wordpiece.max_input_chars_per_word ||
      files_.vocab.continuing_prefix() != "##") {
    throw Error(Error::Kind::unsupported, source_,
                "max_input_chars_per_word other than 100 or continuing_subword_prefix other than "
                "## is not supported with a tokenizer_class of BERT or MPNet, which has these");
  }
  const bool lowercase = flags_.lowercase.value_or(true);
  if (lowercase != written.lowercase) {
    files_.warnings.push_back(fmt::format(
        "{}: tokenizer_config.json {} do_lower_case {}, tokenizer.json {}; the former is used, as "
        "in transformers",
        source_, flags_.lowercase ? "says" : "leaves", lowercase, written.lowercase));
  }
  files_.wordpiece.normalizer = {true, flags_.handle_chinese_chars.value_or(true),
                                 flags_.strip_accents.value_or(lowercase), lowercase};
  files_.lowercase = lowercase;
}

// Special tokens

void Reader::add_token(AddedToken token, std::optional<int64_t> wanted_id,
                       const std::string& where) {
  if (token.content.empty()) return;
  const auto [known, is_new] = index_.try_emplace(token.content, files_.added_tokens.size());
  if (!is_new) {
    AddedToken& same = files_.added_tokens[known->second];
    same.special = same.special || token.special;
    return;
  }
  token.id = files_.vocab.find(token.content);
  if (token.id < 0) {
    token.id = static_cast<int32_t>(files_.vocab.size());
    files_.vocab.add(token.content);
  }
  if (wanted_id && *wanted_id != token.id) {
    files_.warnings.push_back(fmt::format("{}: the token {} is said to have the id {} but has {}",
                                          where, printable(token.content), *wanted_id, token.id));
  }
  files_.added_tokens.push_back(std::move(token));
}

void Reader::settle_special_tokens() {
  if (class_ == Class::mpnet) {
    files_.frames = Frames::of_roberta(files_.cls_token, files_.sep_token);
    files_.trim_offsets = true;
  } else if (!alone_ && !files_.parts && files_.frames.pair.added() == 0) {
    files_.frames = Frames::of_bert(files_.cls_token, files_.sep_token);
  }
  const bool needs_unk = !files_.parts || files_.parts->model.kind == SubwordPart::Kind::wordpiece;
  for (Wanted& wanted : wanted_) add_token(std::move(wanted.token), wanted.id, wanted.where);
  for (const std::string* name : {&files_.unk_token, &files_.sep_token, &files_.pad_token,
                                  &files_.cls_token, &files_.mask_token}) {
    if (files_.vocab.find(*name) < 0) {
      if (name == &files_.unk_token && needs_unk) no_token(*name);
      continue;
    }
    if (alone_ || (files_.sentencepiece && !named_.contains(name))) continue;
    if (files_.parts && (bare_ || any_class_) && !named_.contains(name)) continue;
    AddedToken token;
    token.content = *name;
    token.special = true;
    token.normalized = false;
    token.lstrip = class_ == Class::mpnet && name == &files_.mask_token;
    add_token(std::move(token), std::nullopt, source_);
  }
  files_.wordpiece.unk_id = files_.vocab.find(files_.unk_token);
}

/// transformers invents a row past the model's last one for a missing token; nothing could be
/// computed with it.
void Reader::no_token(const std::string& name) const {
  bad(source_, fmt::format("has no token {}", printable(name)));
}

/// Gives the frames' tokens their ids.
void Reader::settle_frames() {
  files_.frames.for_each([&](FrameToken& token) {
    const int32_t id = files_.vocab.find(token.token);
    if (id < 0) no_token(token.token);
    if (token.id >= 0 && token.id != id) {
      throw Error(Error::Kind::unsupported, source_,
                  fmt::format("post_processor gives {} the id {}, the vocabulary {}",
                              printable(token.token), token.id, id));
    }
    token.id = id;
  });
}

/// Capitals in pieces tell what the vocabulary was made for; special tokens are always in capitals.
void Reader::check_case() {
  size_t capitals = 0, letters = 0;
  for (size_t id = 0; id < files_.vocab.size(); ++id) {
    const std::string_view token = files_.vocab.text(static_cast<int32_t>(id));
    if (token.starts_with('[') && token.ends_with(']')) continue;
    const auto has = [&](char from, char to) {
      return std::any_of(token.begin(), token.end(), [=](char c) { return c >= from && c <= to; });
    };
    const bool capital = has('A', 'Z');
    capitals += capital;
    letters += capital || has('a', 'z');
  }
  const bool lowercase = files_.wordpiece.normalizer.lowercase;
  // A few pieces of an uncased vocabulary may have capitals by chance.
  const bool fault = lowercase ? capitals * 10 > letters : capitals * 100 <= letters;
  if (letters == 0 || !fault) return;
  files_.case_fault =
      lowercase
          ? fmt::format(
                "text is lower-cased, but {} pieces of the vocabulary have capitals and "
                "are never used; is do_lower_case meant to be false?",
                capitals)
          : "text keeps its capitals, but the vocabulary has none: words with capitals become "
            "[UNK]; is do_lower_case meant to be true?";
  files_.warnings.push_back(directory_.path() + ": " + files_.case_fault);
}

}  // namespace

TokenizerFiles read_tokenizer_files(const ModelDirectory& directory) {
  return Reader(directory, false).read();
}

TokenizerFiles read_target_files(const ModelDirectory& directory) {
  return Reader(directory, false, true).read();
}

TokenizerFiles read_tokenizer_alone(const ModelDirectory& directory) {
  return Reader(directory, true).read();
}

}  // namespace bert
