#include "tokenizer/tokenizer_json.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tokenizer/vocab_txt.h"

namespace bert {
namespace {

[[noreturn]] void bad(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::data, where, what);
}

/// What is right in the file, and not what we compute.
[[noreturn]] void unsupported(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::unsupported, where, what);
}

bool flag(Json object, std::string_view key, bool fallback) {
  const auto value = object.find(key);
  return value && !value->is_null() ? value->as_bool() : fallback;
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

[[noreturn]] void stands_twice(Json vocab, std::string_view token) {
  bad(vocab.where(), fmt::format("the key \"{}\" stands twice", printable(token)));
}

/// Adds the tokens while their ids count from 0, as in every file that a library wrote; whether all
/// do.
bool add_in_order(Json vocab, Vocab& out) {
  const size_t count = vocab.size();
  out.reserve(count + 8, count * 8);
  bool in_order = true, has_empty = false;
  vocab.for_each_member([&](std::string_view token, Json value) {
    in_order = in_order && id_of(value, count) == static_cast<int32_t>(out.size());
    if (in_order) out.add(token);
    if (!token.empty()) return;
    if (has_empty) stands_twice(vocab, token);  // which Vocab takes for places without a token
    has_empty = true;
  });
  return in_order;
}

void add_by_id(Json vocab, Vocab& out) {
  const size_t count = vocab.size();
  std::vector<std::string_view> tokens(count);
  std::vector<bool> taken(count);
  vocab.for_each_member([&](std::string_view token, Json value) {
    const auto id = static_cast<size_t>(id_of(value, count));
    if (id >= tokens.size()) {
      tokens.resize(id + 1);
      taken.resize(id + 1);
    }
    if (taken[id] && tokens[id] == token) stands_twice(vocab, token);
    if (taken[id]) {
      bad(vocab.where(),
          fmt::format("gives the id {} to two tokens, one is {}", id, printable(token)));
    }
    taken[id] = true;
    tokens[id] = token;
  });
  for (const std::string_view token : tokens) out.add(token);
}

Vocab read_vocabulary(Json vocab, const Vocab& empty) {
  if (!vocab.is_object())
    bad(vocab.where(), fmt::format("found {}, wants an object", vocab.describe()));
  Vocab out = empty;
  if (!add_in_order(vocab, out)) {
    out = empty;
    add_by_id(vocab, out);
  }
  out.close();
  if (out.duplicates() > 0) {
    stands_twice(vocab, out.text(static_cast<int32_t>(out.first_duplicate())));
  }
  return out;
}

void read_model(Json model, TokenizerJson& out) {
  if (const auto type = model.find("type"); type && type->as_string() != "WordPiece") {
    unsupported(type->where(),
                fmt::format("{} is not supported, wants WordPiece", type->describe()));
  }
  if (model.find("merges")) unsupported(model.where(), "has merges, so it is BPE, wants WordPiece");
  std::string_view prefix = "##";
  if (const auto value = model.find("continuing_subword_prefix")) prefix = value->as_string();
  if (prefix.empty())
    unsupported(model.where(), "has an empty continuing_subword_prefix, which is not supported");
  size_t max_chars = 100;
  if (const auto value = model.find("max_input_chars_per_word")) {
    const int64_t n = value->as_int();
    if (n < 1 || n > static_cast<int64_t>(kMostCharsPerWord)) {
      unsupported(value->where(),
                  fmt::format("{} is not supported, wants 1 to {}", n, kMostCharsPerWord));
    }
    max_chars = static_cast<size_t>(n);
  }
  if (const auto value = model.find("unk_token")) out.unk_token = value->as_string();
  out.max_input_chars_per_word = max_chars;
  out.vocab = read_vocabulary(model.at("vocab"), Vocab(prefix, max_chars * 4));
}

void read_normalizer(Json root, TokenizerJson& out) {
  const auto normalizer = root.find("normalizer");
  if (!normalizer || normalizer->is_null())
    unsupported(root.where(), "has no normalizer, wants BertNormalizer");
  const Json type = normalizer->at("type");
  if (type.as_string() != "BertNormalizer") {
    unsupported(type.where(),
                fmt::format("{} is not supported, wants BertNormalizer", type.describe()));
  }
  out.clean_text = flag(*normalizer, "clean_text", true);
  out.handle_chinese_chars = flag(*normalizer, "handle_chinese_chars", true);
  out.lowercase = flag(*normalizer, "lowercase", true);
  if (const auto value = normalizer->find("strip_accents"); value && !value->is_null()) {
    out.strip_accents = value->as_bool();
  }
}

void check_pre_tokenizer(Json root) {
  const auto pre = root.find("pre_tokenizer");
  if (!pre || pre->is_null())
    unsupported(root.where(), "has no pre_tokenizer, wants BertPreTokenizer");
  if (pre->at("type").as_string() != "BertPreTokenizer") {
    unsupported(pre->where(), fmt::format("{} is not supported, wants BertPreTokenizer",
                                          pre->at("type").describe()));
  }
}

/// A template as text: "[CLS]:0 A:0 [SEP]:0".
std::string spell(Json items) {
  std::string text;
  items.for_each_element([&](Json item) {
    item.for_each_member([&](std::string_view, Json part) {
      if (!text.empty()) text += ' ';
      text += fmt::format("{}:{}", part.at("id").as_string(), part.at("type_id").as_int());
    });
  });
  return text;
}

int32_t type_of(Json part) {
  const int64_t type = part.at("type_id").as_int();
  if (type < 0 || type > INT32_MAX) bad(part.where(), fmt::format("{} is no type id", type));
  return static_cast<int32_t>(type);
}

/// An id that a post-processor names; that the vocabulary has it is checked later.
int32_t frame_id(Json value) {
  const int64_t id = value.as_int();
  if (id < 0 || id > INT32_MAX) bad(value.where(), fmt::format("{} is no token id", id));
  return static_cast<int32_t>(id);
}

/// The special tokens of `items`, a template with the sequences `names` in this order; false if it
/// is another.
bool read_frame(Json items, std::string_view names, Frame& frame) {
  size_t texts = 0;
  bool known = true;
  items.for_each_element([&](Json item) {
    if (const auto special = item.find("SpecialToken")) {
      auto& place = texts == 0 ? frame.before : texts == names.size() ? frame.after : frame.between;
      place.push_back({std::string(special->at("id").as_string()), type_of(*special)});
    } else {
      const Json sequence = item.at("Sequence");
      known =
          known && texts < names.size() && sequence.at("id").as_string() == names.substr(texts, 1);
      if (known) frame.type_ids[texts++] = type_of(sequence);
    }
  });
  return known && texts == names.size() && frame.added() > 0;
}

void read_template(Json processor, Frames& frames) {
  const Json single = processor.at("single"), pair = processor.at("pair");
  if (!read_frame(single, "A", frames.single) || !read_frame(pair, "AB", frames.pair)) {
    unsupported(
        processor.where(),
        fmt::format("the template {} and {} is not supported, wants special tokens around A, and "
                    "around A and B, as [CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1",
                    printable(spell(single)), printable(spell(pair))));
  }
  const Json specials = processor.at("special_tokens");
  frames.for_each([&](FrameToken& token) {
    const auto found = specials.find(token.token);
    if (!found) {
      bad(specials.where(),
          fmt::format("the template's token {} is missing", printable(token.token)));
    }
    const auto ids = found->find("ids");
    if (!ids) return;
    if (ids->size() != 1) bad(ids->where(), "wants one id");
    ids->for_each_element([&](Json id) { token.id = frame_id(id); });
  });
}

/// The frame of BertProcessing and RobertaProcessing, which name their tokens.
Frames read_named_frame(Json processor, bool of_roberta) {
  const auto token = [&](std::string_view key) {
    FrameToken result;
    processor.at(key).for_each_element([&](Json item) {
      if (item.is_string()) {
        result.token = item.as_string();
      } else {
        result.id = frame_id(item);
      }
    });
    return result;
  };
  const FrameToken cls = token("cls"), sep = token("sep");
  Frames frames =
      of_roberta ? Frames::of_roberta(cls.token, sep.token) : Frames::of_bert(cls.token, sep.token);
  frames.for_each([&](FrameToken& t) { t.id = t.token == cls.token ? cls.id : sep.id; });
  return frames;
}

void read_post_processor(Json root, TokenizerJson& out) {
  const auto processor = root.find("post_processor");
  if (!processor || processor->is_null()) return;
  const Json type = processor->at("type");
  if (type.as_string() == "TemplateProcessing") {
    read_template(*processor, out.frames.emplace());
    return;
  }
  out.of_roberta = type.as_string() == "RobertaProcessing";
  if (!out.of_roberta && type.as_string() != "BertProcessing") {
    unsupported(type.where(),
                fmt::format("{} is not supported, wants TemplateProcessing, BertProcessing or "
                            "RobertaProcessing",
                            type.describe()));
  }
  out.frames = read_named_frame(*processor, out.of_roberta);
  if (!out.of_roberta) return;
  out.trim_offsets = flag(*processor, "trim_offsets", true);
  out.add_prefix_space = flag(*processor, "add_prefix_space", true);
}

void check_truncation(Json root) {
  const auto truncation = root.find("truncation");
  if (!truncation || truncation->is_null()) return;
  const int64_t length = truncation->at("max_length").as_int();
  const auto stride = truncation->find("stride");
  if (stride && stride->as_int() >= length) {
    bad(stride->where(), fmt::format("{} is not below max_length {}", stride->as_int(), length));
  }
}

void read_decoder(Json root, TokenizerJson& out) {
  const auto decoder = root.find("decoder");
  if (!decoder || decoder->is_null()) return;
  const Json type = decoder->at("type");
  if (type.as_string() != "WordPiece") {
    unsupported(type.where(), fmt::format("{} is not supported, wants WordPiece", type.describe()));
  }
  out.decoder_cleanup = flag(*decoder, "cleanup", true);
}

void read_added_tokens(Json root, TokenizerJson& out) {
  const auto added = root.find("added_tokens");
  if (!added || added->is_null()) return;
  added->for_each_element([&](Json value) {
    const int32_t id = id_of(value.at("id"), out.vocab.size());
    out.added_tokens.push_back({read_added_token(value, false), id, value.where()});
  });
}

}  // namespace

AddedToken read_added_token(Json value, bool special) {
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

TokenizerJson read_tokenizer_json(const std::string& path) {
  constexpr size_t kManyKeys = 1000;  // a vocabulary: it looks for tokens that stand twice itself
  const JsonDocument document = JsonDocument::open(path, kLargestVocabulary, kManyKeys);
  const Json root = document.root();
  TokenizerJson out;
  read_model(root.at("model"), out);
  read_normalizer(root, out);
  check_pre_tokenizer(root);
  check_truncation(root);
  read_decoder(root, out);
  read_added_tokens(root, out);
  read_post_processor(root, out);
  return out;
}

}  // namespace bert
