#include "tokenizer/files/tokenizer_json.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tokenizer/files/parts_json.h"
#include "tokenizer/files/vocab_txt.h"

namespace bert {
namespace {

[[noreturn]] void bad(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::data, where, what);
}

/// What is right in the file, and not what we compute.
[[noreturn]] void unsupported(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::unsupported, where, what);
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

void read_wordpiece(Json model, TokenizerJson& out) {
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
  out.parts.model.max_chars_per_word = max_chars;
  out.vocab = read_vocabulary(model.at("vocab"), Vocab(prefix, max_chars * 4));
}

/// Two tokens, "a b" or ["a", "b"].
std::pair<std::string, std::string> read_merge(Json merge) {
  std::vector<std::string> parts;
  if (merge.is_string()) {
    const std::string_view text = merge.as_string();
    const size_t blank = text.find(' ');
    if (blank != std::string_view::npos) {
      parts = {std::string(text.substr(0, blank)), std::string(text.substr(blank + 1))};
    }
  } else {
    merge.for_each_element([&](Json part) { parts.emplace_back(part.as_string()); });
  }
  if (parts.size() != 2 || (merge.is_string() && parts[1].find(' ') != std::string::npos)) {
    bad(merge.where(), fmt::format("{} is no merge, wants two tokens", merge.describe()));
  }
  return {std::move(parts[0]), std::move(parts[1])};
}

std::string text_or_empty(Json object, std::string_view key) {
  const auto value = object.find(key);
  return value && !value->is_null() ? std::string(value->as_string()) : std::string();
}

void read_bpe(Json model, TokenizerJson& out) {
  SubwordPart& part = out.parts.model;
  part.kind = SubwordPart::Kind::bpe;
  part.where = model.where();
  part.prefix = text_or_empty(model, "continuing_subword_prefix");
  part.suffix = text_or_empty(model, "end_of_word_suffix");
  part.fuse_unk = json_flag(model, "fuse_unk", false);
  part.byte_fallback = json_flag(model, "byte_fallback", false);
  part.ignore_merges = json_flag(model, "ignore_merges", false);
  if (part.byte_fallback && !(part.prefix + part.suffix).empty()) {
    unsupported(model.where(),
                "byte_fallback with continuing_subword_prefix or end_of_word_suffix is not "
                "supported");
  }
  if (const auto dropout = model.find("dropout"); dropout && !dropout->is_null()) {
    if (dropout->as_double() != 0) {
      unsupported(dropout->where(), "dropout is not supported: ids would depend on chance");
    }
  }
  out.vocab = read_vocabulary(model.at("vocab"), Vocab("", 0));
  const Json merges = model.at("merges");
  part.merges.reserve(merges.size());
  merges.for_each_element([&](Json merge) { part.merges.push_back(read_merge(merge)); });
}

[[noreturn]] void refuse_piece(Json piece) {
  if (piece.size() == 2) {
    size_t place = 0;
    piece.for_each_element(
        [&](Json value) { place++ == 0 ? void(value.as_string()) : void(value.as_double()); });
  }
  bad(piece.where(), "is no piece with its score");
}

/// A list of pieces with their scores.
void read_unigram(Json model, TokenizerJson& out) {
  SubwordPart& part = out.parts.model;
  part.kind = SubwordPart::Kind::unigram;
  part.where = model.where();
  part.byte_fallback = json_flag(model, "byte_fallback", false);
  const Json vocab = model.at("vocab");
  const size_t count = vocab.size();
  out.vocab = Vocab("", 0);
  out.vocab.reserve(count + 8, count * 16);
  part.scores.reserve(count);
  const auto other = vocab.for_each_scored([&](std::string_view piece, double score) {
    out.vocab.add(piece);
    part.scores.push_back(score);
  });
  if (other) refuse_piece(*other);
  out.vocab.close();
  const auto unk = model.find("unk_id");
  if (!unk || unk->is_null()) return;
  part.unk_id = id_of(*unk, out.vocab.size());
  if (static_cast<size_t>(*part.unk_id) >= out.vocab.size()) {
    bad(unk->where(), fmt::format("{} is no id of a piece", *part.unk_id));
  }
  part.unk_token = out.vocab.text(*part.unk_id);
}

/// Older files leave the type out, and tokenizers goes by what there is.
std::string_view type_of_model(Json model) {
  if (const auto type = model.find("type")) return type->as_string();
  if (model.find("merges")) return "BPE";
  const auto vocab = model.find("vocab");
  return vocab && vocab->is_array() ? "Unigram" : "WordPiece";
}

void read_model(Json model, TokenizerJson& out) {
  const std::string_view type = type_of_model(model);
  if (const auto unk = model.find("unk_token"); unk && !unk->is_null()) {
    out.parts.model.unk_token = unk->as_string();
  }
  if (type == "WordPiece") return read_wordpiece(model, out);
  if (type == "BPE") return read_bpe(model, out);
  if (type == "Unigram") return read_unigram(model, out);
  unsupported(model.where(),
              fmt::format("{} is not supported, wants WordPiece, BPE or Unigram", printable(type)));
}

bool is_of_bert(const TokenizerParts& parts) {
  return parts.model.kind == SubwordPart::Kind::wordpiece && parts.normalizers.size() == 1 &&
         parts.normalizers[0].kind == NormalizerPart::Kind::bert &&
         parts.pre_tokenizers.size() == 1 &&
         parts.pre_tokenizers[0].kind == PreTokenizerPart::Kind::bert;
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
  return known && texts == names.size();
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
  SpecialNames names;
  names[Special::cls] = cls.token;
  names[Special::sep] = sep.token;
  Frames frames = make_frames(of_roberta ? kRobertaFrame : kBertFrame, names);
  frames.for_each([&](FrameToken& t) { t.id = t.token == cls.token ? cls.id : sep.id; });
  return frames;
}

void read_trim(Json processor, TokenizerJson& out) {
  if (!json_flag(processor, "trim_offsets", true)) return;
  if (out.trim_offsets) {
    unsupported(processor.where(), "trim_offsets a second time in a Sequence is not supported");
  }
  out.trim_offsets = true;
  out.add_prefix_space = json_flag(processor, "add_prefix_space", true);
}

void read_frames(Json processor, std::string_view type, TokenizerJson& out) {
  if (out.frames) {
    unsupported(processor.where(), "special tokens a second time in a Sequence are not supported");
  }
  if (type == "TemplateProcessing") {
    read_template(processor, out.frames.emplace());
    return;
  }
  out.of_roberta = type == "RobertaProcessing";
  if (!out.of_roberta && type != "BertProcessing") refuse_type(processor);
  out.frames = read_named_frame(processor, out.of_roberta);
  if (out.of_roberta) read_trim(processor, out);
}

void read_post_processor(Json root, TokenizerJson& out) {
  const auto processor = root.find("post_processor");
  if (!processor || processor->is_null()) return;
  for_each_part(*processor, "processors", [&](Json step) {
    const std::string_view type = step.at("type").as_string();
    if (type == "ByteLevel") {
      read_trim(step, out);
    } else {
      read_frames(step, type, out);
    }
  });
}

void read_truncation(Json root, TokenizerJson& out) {
  const auto truncation = root.find("truncation");
  if (!truncation || truncation->is_null()) return;
  const int64_t length = truncation->at("max_length").as_int();
  const auto stride = truncation->find("stride");
  if (stride && stride->as_int() >= length) {
    bad(stride->where(), fmt::format("{} is not below max_length {}", stride->as_int(), length));
  }
  if (length > 0) out.truncation = static_cast<size_t>(length);
  const auto side = truncation->find("direction");
  out.truncates_left = side && side->is_string() && side->as_string() == "Left";
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

AddedToken read_added_token(Json value, bool special) {
  AddedToken token;
  token.special = special;
  token.normalized = !special;
  if (value.is_string()) {
    token.content = value.as_string();
    return token;
  }
  token.content = value.at("content").as_string();
  token.single_word = json_flag(value, "single_word", false);
  token.lstrip = json_flag(value, "lstrip", false);
  token.rstrip = json_flag(value, "rstrip", false);
  token.special = json_flag(value, "special", special);
  token.normalized = json_flag(value, "normalized", !token.special);
  return token;
}

TokenizerJson read_tokenizer_json(const std::string& path, bool framed) {
  const JsonDocument document = JsonDocument::open(path, kLargestVocabulary, kManyKeys);
  const Json root = document.root();
  TokenizerJson out;
  read_model(root.at("model"), out);
  out.parts.normalizers = read_normalizers(root);
  out.parts.pre_tokenizers = read_pre_tokenizers(root);
  out.parts.decoders = read_decoders(root);
  const auto decoder = root.find("decoder");
  out.parts.has_decoder = decoder && !decoder->is_null();
  out.of_bert = is_of_bert(out.parts);
  read_truncation(root, out);
  read_added_tokens(root, out);
  if (framed) read_post_processor(root, out);
  return out;
}

}  // namespace bert
