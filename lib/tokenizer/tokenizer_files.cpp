#include "tokenizer/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "io/file_kind.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "text/unicode.h"

namespace bert {
namespace {

constexpr uint64_t kLargestVocab = 256u << 20;
constexpr uint64_t kLargestTokenizerJson = 256u << 20;
constexpr size_t kMostCharsPerWord = 100000;

[[noreturn]] void bad(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::data, where, what);
}

bool flag(Json object, std::string_view key, bool fallback) {
  const auto value = object.find(key);
  return value && !value->is_null() ? value->as_bool() : fallback;
}

/// A token that is written as a string or as an AddedToken object.
AddedToken token_of(Json value, bool special) {
  AddedToken token;
  token.special = special;
  token.normalized = !special;
  if (value.is_string()) {
    token.content = value.as_string();
    return token;
  }
  token.content = value.at("content").as_string();
  token.single_word = flag(value, "single_word", false);
  token.lstrip = flag(value, "lstrip", false);
  token.rstrip = flag(value, "rstrip", false);
  token.special = flag(value, "special", special);
  token.normalized = flag(value, "normalized", !token.special);
  return token;
}

/// Ids of a vocabulary with `count` tokens: a hole or two is fine, memory for 2^31 ids is not.
int32_t id_of(Json value, size_t count) {
  const auto id = value.try_int();
  const auto limit = static_cast<int64_t>(count * 4 + 4096);
  if (!id || *id < 0 || *id >= limit) {
    bad(value.where(), fmt::format("{} is no token id, wants an integer from 0 to {}",
                                   value.describe(), limit - 1));
  }
  return static_cast<int32_t>(*id);
}

/// Reads the files of one directory; the order of its steps is that of the reference.
class Reader {
 public:
  explicit Reader(const std::string& directory) : directory_(directory) {}
  TokenizerFiles read();

 private:
  std::string path(std::string_view name) const { return directory_ + "/" + std::string(name); }
  std::optional<JsonDocument> open_json(std::string_view name) const;

  void read_config();
  void read_flags(Json config);
  void read_named_tokens(Json source);
  void read_config_tokens(Json config);
  void read_added_tokens_json();

  void read_vocab_txt();
  void add_line(std::string_view line, size_t number, const std::string& file);
  void compare_with_vocab_txt();

  void read_tokenizer_json();
  void read_model(Json model);
  void read_normalizer(Json root);
  void read_post_processor(Json root);
  void check_truncation(Json root) const;
  void read_decoder(Json root);

  void begin_vocab(std::string_view prefix, size_t max_chars);
  void add_token(AddedToken token, std::optional<int64_t> wanted_id, const std::string& where);
  void settle_special_tokens();

  std::string directory_;
  std::string source_;  ///< the file that the vocabulary came from
  TokenizerFiles files_;
  struct Wanted {
    AddedToken token;
    std::optional<int64_t> id;
    std::string where;
  };
  std::vector<Wanted> wanted_;  ///< added tokens of the configuration
  struct Flags {
    std::optional<bool> lowercase;
    std::optional<bool> handle_chinese_chars;
    std::optional<bool> strip_accents;
    bool strip_accents_is_null = false;
  } flags_;
  bool config_names_tokens_ = false;
};

std::optional<JsonDocument> Reader::open_json(std::string_view name) const {
  const std::string file = path(name);
  if (!file_exists(file)) return std::nullopt;
  return JsonDocument::open(file);
}

TokenizerFiles Reader::read() {
  const bool json = file_exists(path("tokenizer.json"));
  if (!json && !file_exists(path("vocab.txt"))) {
    throw Error(Error::Kind::no_input, directory_, "has no tokenizer.json and no vocab.txt");
  }
  read_config();
  if (json) {
    read_tokenizer_json();
  } else {
    read_vocab_txt();
  }
  settle_special_tokens();
  return std::move(files_);
}

// tokenizer_config.json, special_tokens_map.json, added_tokens.json

void Reader::read_config() {
  if (const auto config = open_json("tokenizer_config.json")) {
    const Json root = config->root();
    read_flags(root);
    read_named_tokens(root);
    read_config_tokens(root);
  }
  if (!config_names_tokens_) {
    if (const auto map = open_json("special_tokens_map.json")) read_named_tokens(map->root());
    read_added_tokens_json();
  }
}

void Reader::read_flags(Json config) {
  // The flags belong to the class of BERT; others take tokenizer.json as it is.
  static constexpr std::array kClasses = {
      "BertTokenizer",     "DistilBertTokenizer", "ElectraTokenizer",     "MobileBertTokenizer",
      "ConvBertTokenizer", "LayoutLMTokenizer",   "SqueezeBertTokenizer", "RetriBertTokenizer",
      "NezhaTokenizer",    "ErnieTokenizer"};
  static constexpr std::array kAnyClass = {"PreTrainedTokenizer", "TokenizersBackend"};
  bool bert_class = true;
  if (const auto name = config.find("tokenizer_class"); name && name->is_string()) {
    std::string_view text = name->as_string();
    if (text.ends_with("Fast")) text.remove_suffix(4);
    bert_class = std::find(kClasses.begin(), kClasses.end(), text) != kClasses.end();
    const bool any = std::find(kAnyClass.begin(), kAnyClass.end(), text) != kAnyClass.end();
    if (!bert_class && !any && !file_exists(path("tokenizer.json"))) {
      throw Error(
          Error::Kind::unsupported, name->where(),
          fmt::format("the tokenizer {} is not supported, wants BertTokenizer", printable(text)));
    }
  }
  const auto get = [&](std::string_view key) -> std::optional<bool> {
    const auto value = config.find(key);
    if (!value || value->is_null()) return std::nullopt;
    return value->as_bool();
  };
  if (bert_class) {
    flags_.lowercase = get("do_lower_case");
    flags_.handle_chinese_chars = get("tokenize_chinese_chars");
    flags_.strip_accents = get("strip_accents");
    const auto strip = config.find("strip_accents");
    flags_.strip_accents_is_null = strip && strip->is_null();
  }
  files_.text_cleanup = flag(config, "clean_up_tokenization_spaces", false);
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
    const AddedToken token = token_of(*value, true);
    if (token.content.empty()) bad(value->where(), "is empty");
    *name = token.content;
    if (!value->is_string()) wanted_.push_back({token, std::nullopt, value->where()});
  }
  for (const std::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto value = source.find(key);
    if (!value || value->is_null()) continue;
    const auto add = [&](Json item) {
      wanted_.push_back({token_of(item, true), std::nullopt, item.where()});
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
    tokens.push_back({token_of(value, false), id, value.where()});
  });
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Wanted& a, const Wanted& b) { return a.id < b.id; });
  // They come before the tokens with a name, whose flags they set.
  wanted_.insert(wanted_.begin(), tokens.begin(), tokens.end());
}

void Reader::read_added_tokens_json() {
  const auto document = open_json("added_tokens.json");
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

// vocab.txt

void Reader::begin_vocab(std::string_view prefix, size_t max_chars) {
  files_.wordpiece.max_input_chars_per_word = max_chars;
  files_.vocab = Vocab(prefix, std::min(max_chars, kMostCharsPerWord) * 4);
}

/// The text of a line without its end and trailing white space, as the reference trims it.
std::string_view trimmed(std::string_view line) {
  while (!line.empty()) {
    if (line.back() > ' ' && line.back() < 0x7F) break;  // most lines
    size_t last = line.size() - 1;
    while (last > 0 && line.size() - last < 4 &&
           (static_cast<unsigned char>(line[last]) & 0xC0) == 0x80)
      --last;
    if (!(char_class(decode_utf8(line, last).code_point) & kCharWhite)) break;
    line.remove_suffix(line.size() - last);
  }
  return line;
}

/// Calls f(line, number) for each line, numbered from 0; a last one without LF counts, an empty one
/// does not.
template <typename Function>
void for_each_line(std::string_view text, Function f) {
  for (size_t begin = 0, number = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    f(trimmed(text.substr(begin, end - begin)), number);
    begin = end + 1;
  }
}

std::string_view without_bom(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

void Reader::read_vocab_txt() {
  source_ = path("vocab.txt");
  const MappedFile file = MappedFile::open(source_, kLargestVocab);
  if (const std::string_view kind = file_kind(file.text()); !kind.empty()) {
    bad(source_, fmt::format("this is {}, not a vocabulary", kind));
  }
  if (file.text().starts_with("\xFF\xFE") || file.text().starts_with("\xFE\xFF")) {
    bad(source_, "this is UTF-16, wants UTF-8");
  }
  const std::string_view text = without_bom(file.text());
  if (text.size() < file.size())
    files_.warnings.push_back(source_ + ": the byte order mark is not part of a token");
  if (text.empty()) bad(source_, "is empty");
  begin_vocab("##", 100);
  files_.vocab.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 8,
                       text.size() + 64);
  for_each_line(text, [&](std::string_view line, size_t number) {
    for (size_t i = 0; i < line.size();) {
      const Utf8Step step = utf8_step(line, i);
      if (!step.valid) bad(source_, fmt::format("line {} is not UTF-8", number + 1));
      i += step.length;
    }
    files_.vocab.add(line);
  });
  files_.vocab.close();
  if (files_.vocab.duplicates() > 0) {
    files_.warnings.push_back(
        fmt::format("{}: {} tokens stand there twice, the first in line {}; the last counts",
                    source_, files_.vocab.duplicates(), files_.vocab.first_duplicate() + 1));
  }
  const bool lowercase = flags_.lowercase.value_or(true);
  files_.wordpiece.normalizer = {true, flags_.handle_chinese_chars.value_or(true),
                                 flags_.strip_accents.value_or(lowercase), lowercase};
}

/// One warning if vocab.txt, which is not used beside tokenizer.json, has other tokens.
void Reader::compare_with_vocab_txt() {
  const std::string other = path("vocab.txt");
  if (!file_exists(other)) return;
  const MappedFile file = MappedFile::open(other, kLargestVocab);
  size_t lines = 0;
  size_t first_other = 0;
  for_each_line(without_bom(file.text()), [&](std::string_view line, size_t number) {
    lines = number + 1;
    const bool same = number < files_.vocab.size() &&
                      trimmed(files_.vocab.text(static_cast<int32_t>(number))) == line;
    if (!same && first_other == 0) first_other = number + 1;
  });
  if (first_other == 0 && lines == files_.vocab.size()) return;
  files_.warnings.push_back(
      fmt::format("{}: differs from vocab.txt from line {} on; tokenizer.json is used", source_,
                  first_other > 0 ? first_other : lines + 1));
}

// tokenizer.json

void Reader::read_tokenizer_json() {
  source_ = path("tokenizer.json");
  const JsonDocument document = JsonDocument::open(source_, kLargestTokenizerJson);
  const Json root = document.root();
  read_model(root.at("model"));
  compare_with_vocab_txt();
  read_normalizer(root);
  if (const auto pre = root.find("pre_tokenizer"); !pre || pre->is_null()) {
    bad(source_, "has no pre_tokenizer, wants BertPreTokenizer");
  } else if (pre->at("type").as_string() != "BertPreTokenizer") {
    bad(pre->where(),
        fmt::format("{} is not supported, wants BertPreTokenizer", pre->at("type").describe()));
  }
  check_truncation(root);
  read_decoder(root);
  if (const auto added = root.find("added_tokens"); added && !added->is_null()) {
    std::vector<Wanted> tokens;
    added->for_each_element([&](Json value) {
      tokens.push_back(
          {token_of(value, false), id_of(value.at("id"), files_.vocab.size()), value.where()});
    });
    // added_tokens_decoder of the configuration comes first, where there is one.
    wanted_.insert(config_names_tokens_ ? wanted_.end() : wanted_.begin(), tokens.begin(),
                   tokens.end());
  }
  read_post_processor(root);
}

void Reader::read_model(Json model) {
  if (const auto type = model.find("type"); type && type->as_string() != "WordPiece") {
    bad(type->where(), fmt::format("{} is not supported, wants WordPiece", type->describe()));
  }
  if (model.find("merges")) bad(model.where(), "has merges, so it is BPE, wants WordPiece");
  std::string_view prefix = "##";
  if (const auto value = model.find("continuing_subword_prefix")) prefix = value->as_string();
  if (prefix.empty())
    bad(model.where(), "has an empty continuing_subword_prefix, which is not supported");
  size_t max_chars = 100;
  if (const auto value = model.find("max_input_chars_per_word")) {
    const int64_t n = value->as_int();
    if (n < 1 || n > static_cast<int64_t>(kMostCharsPerWord)) {
      bad(value->where(), fmt::format("{} is not supported, wants 1 to {}", n, kMostCharsPerWord));
    }
    max_chars = static_cast<size_t>(n);
  }
  if (const auto value = model.find("unk_token")) files_.unk_token = value->as_string();
  begin_vocab(prefix, max_chars);

  const Json vocab = model.at("vocab");
  const size_t count = vocab.size();
  std::vector<std::string_view> tokens(count);
  std::vector<bool> taken(count);
  size_t bytes = 64;
  vocab.for_each_member([&](std::string_view token, Json value) {
    const auto id = static_cast<size_t>(id_of(value, count));
    if (id >= tokens.size()) {
      tokens.resize(id + 1);
      taken.resize(id + 1);
    }
    if (taken[id]) {
      bad(source_, fmt::format("model.vocab gives the id {} to two tokens, one is {}", id,
                               printable(token)));
    }
    taken[id] = true;
    tokens[id] = token;
    bytes += token.size();
  });
  files_.vocab.reserve(tokens.size() + 8, bytes);
  for (const std::string_view token : tokens) files_.vocab.add(token);
  files_.vocab.close();
}

void Reader::read_normalizer(Json root) {
  const auto normalizer = root.find("normalizer");
  if (!normalizer || normalizer->is_null()) bad(source_, "has no normalizer, wants BertNormalizer");
  const Json type = normalizer->at("type");
  if (type.as_string() != "BertNormalizer") {
    bad(type.where(), fmt::format("{} is not supported, wants BertNormalizer", type.describe()));
  }
  const bool json_lowercase = flag(*normalizer, "lowercase", true);
  const bool lowercase = flags_.lowercase.value_or(json_lowercase);
  if (lowercase != json_lowercase) {
    files_.warnings.push_back(
        fmt::format("{}: tokenizer_config.json says do_lower_case {}, tokenizer.json {}; the "
                    "former is used, as in transformers",
                    source_, lowercase, json_lowercase));
  }
  std::optional<bool> strip;
  if (const auto value = normalizer->find("strip_accents"); value && !value->is_null())
    strip = value->as_bool();
  if (flags_.strip_accents || flags_.strip_accents_is_null) strip = flags_.strip_accents;
  files_.wordpiece.normalizer = {
      flag(*normalizer, "clean_text", true),
      flags_.handle_chinese_chars.value_or(flag(*normalizer, "handle_chinese_chars", true)),
      strip.value_or(lowercase), lowercase};
}

/// The template of BERT, written as TemplateProcessing or BertProcessing; nothing else is
/// supported.
void Reader::read_post_processor(Json root) {
  const auto processor = root.find("post_processor");
  if (!processor || processor->is_null()) return;
  const Json type = processor->at("type");
  if (type.as_string() == "BertProcessing") {
    processor->at("cls").for_each_element([&](Json item) {
      if (item.is_string()) files_.cls_token = item.as_string();
    });
    processor->at("sep").for_each_element([&](Json item) {
      if (item.is_string()) files_.sep_token = item.as_string();
    });
    return;
  }
  if (type.as_string() != "TemplateProcessing") {
    bad(type.where(),
        fmt::format("{} is not supported, wants TemplateProcessing", type.describe()));
  }
  const auto spell = [](Json items) {
    std::vector<std::string> parts;
    items.for_each_element([&](Json item) {
      item.for_each_member([&](std::string_view, Json part) {
        parts.push_back(
            fmt::format("{}:{}", part.at("id").as_string(), part.at("type_id").as_int()));
      });
    });
    return fmt::format("{}", fmt::join(parts, " "));
  };
  std::string cls;
  std::string sep;
  size_t index = 0;
  processor->at("single").for_each_element([&](Json item) {
    if (const auto special = item.find("SpecialToken")) {
      (index == 0 ? cls : sep) = special->at("id").as_string();
    }
    ++index;
  });
  const std::string single = spell(processor->at("single"));
  const std::string pair = spell(processor->at("pair"));
  if (single != fmt::format("{}:0 A:0 {}:0", cls, sep) ||
      pair != fmt::format("{}:0 A:0 {}:0 B:1 {}:1", cls, sep, sep)) {
    bad(processor->where(),
        fmt::format("the template {} and {} is not supported, wants that of BERT: [CLS]:0 A:0 "
                    "[SEP]:0 B:1 [SEP]:1",
                    printable(single), printable(pair)));
  }
  const Json specials = processor->at("special_tokens");
  for (const std::string& name : {cls, sep}) {
    if (!specials.find(name))
      bad(specials.where(), fmt::format("the template's token {} is missing", printable(name)));
  }
  files_.cls_token = cls;
  files_.sep_token = sep;
}

void Reader::check_truncation(Json root) const {
  const auto truncation = root.find("truncation");
  if (!truncation || truncation->is_null()) return;
  const int64_t length = truncation->at("max_length").as_int();
  const auto stride = truncation->find("stride");
  if (stride && stride->as_int() >= length) {
    bad(stride->where(), fmt::format("{} is not below max_length {}", stride->as_int(), length));
  }
}

void Reader::read_decoder(Json root) {
  const auto decoder = root.find("decoder");
  if (!decoder || decoder->is_null()) return;
  const Json type = decoder->at("type");
  if (type.as_string() != "WordPiece") {
    bad(type.where(), fmt::format("{} is not supported, wants WordPiece", type.describe()));
  }
  files_.decoder_cleanup = flag(*decoder, "cleanup", true);
}

// Special tokens

void Reader::add_token(AddedToken token, std::optional<int64_t> wanted_id,
                       const std::string& where) {
  if (token.content.empty()) return;
  for (AddedToken& known : files_.added_tokens) {
    if (known.content != token.content) continue;
    known.special |= token.special;
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
  for (Wanted& wanted : wanted_) add_token(std::move(wanted.token), wanted.id, wanted.where);
  for (const std::string* name : {&files_.unk_token, &files_.sep_token, &files_.pad_token,
                                  &files_.cls_token, &files_.mask_token}) {
    const bool optional = name == &files_.pad_token || name == &files_.mask_token;
    // transformers invents a row past the model's last one for a missing token; nothing could be
    // computed with it.
    if (files_.vocab.find(*name) < 0) {
      if (optional) continue;
      bad(source_, fmt::format("has no token {}", printable(*name)));
    }
    AddedToken token;
    token.content = *name;
    token.special = true;
    token.normalized = false;
    add_token(std::move(token), std::nullopt, source_);
  }
  files_.wordpiece.unk_id = files_.vocab.find(files_.unk_token);
}

}  // namespace

TokenizerFiles read_tokenizer_files(const std::string& directory) {
  return Reader(directory).read();
}

}  // namespace bert
