#include "tokenizer/files/json_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "directory/file_names.h"
#include "tokenizer/files/tokenizer_json.h"
#include "tokenizer/files/vocab_txt.h"

namespace bert {
namespace {

[[noreturn]] void unsupported(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::unsupported, where, what);
}

bool has_bytes(const TokenizerParts& parts) {
  using Step = PreTokenizerPart;
  using End = DecoderPart;
  const auto& steps = parts.pre_tokenizers;
  const auto& ends = parts.decoders;
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& step) { return step.kind == Step::Kind::byte_level; }) ||
         std::any_of(ends.begin(), ends.end(),
                     [](const End& end) { return end.kind == End::Kind::byte_level; });
}

/// A class that builds its tokenizer anew of the tables of the file.
const TokenizerClass& choose_rebuilt(const TokenizerClass& row, const TokenizerJson& json,
                                     const std::string& where) {
  if (row.rebuild->unless_bytes && has_bytes(json.parts)) return any_class();
  const bool unigram = json.parts.model.kind == SubwordPart::Kind::unigram;
  if (unigram != row.rebuild->of_unigram || json.parts.model.kind == SubwordPart::Kind::wordpiece) {
    unsupported(
        where,
        fmt::format("the tokenizer_class {} has a model of the type {}, and this file "
                    "another; wants {}Fast",
                    row.name, row.rebuild->of_unigram ? "Unigram" : "BPE", any_class().name));
  }
  return row;
}

/// The class as which the file is read. transformers builds the tokenizers of BERT and MPNet anew
/// from the vocabulary and the flags, whatever else the file says; those without a class of their
/// own are what it says. A file without a class says itself what it is.
const TokenizerClass& choose_class(const TokenizerFacts& facts, const TokenizerJson& json,
                                   const std::string& where) {
  const TokenizerClass& row = facts.row();
  if (row.source == ClassSource::byte_level) return row;
  if (const TokenizerClass* of_languages = language_class(facts)) return *of_languages;
  if (row.rebuild && facts.named && !facts.bare) return choose_rebuilt(row, json, where);
  if (facts.bare || row.source != ClassSource::wordpiece) return any_class();
  if (json.of_bert) return json.of_roberta && !facts.named ? mpnet_class() : row;
  if (!facts.named) return any_class();
  unsupported(where,
              fmt::format("the tokenizer_class {} is BERT's WordPiece, and this file has other "
                          "parts, which is not supported; wants {}Fast",
                          row.name, any_class().name));
}

/// A class of BERT or MPNet takes the flags of the configuration or their defaults, as in
/// transformers.
TokenizerDraft rebuilt(TokenizerDraft draft, const TokenizerFacts& facts, const TokenizerJson& json,
                       const TokenizerClass& row) {
  TokenizerFiles& files = draft.files;
  WordPieceOptions options;
  if (json.parts.model.max_chars_per_word != options.max_input_chars_per_word ||
      files.vocab.continuing_prefix() != "##") {
    unsupported(draft.source,
                "max_input_chars_per_word other than 100 or continuing_subword_prefix other than "
                "## is not supported with a tokenizer_class of BERT or MPNet, which has these");
  }
  options.normalizer = bert_normalizer(facts.flags);
  files.lowercase = options.normalizer.lowercase;
  const bool written = json.parts.normalizers[0].bert.lowercase;
  if (files.lowercase != written) {
    files.warnings.push_back(fmt::format(
        "{}: tokenizer_config.json {} do_lower_case {}, tokenizer.json {}; the former is used, as "
        "in transformers",
        draft.source, facts.flags.lowercase ? "says" : "leaves", files.lowercase, written));
  }
  files.engine = options;
  return with_class(std::move(draft), facts, row);
}

SpecialNames written_names(const TokenizerFacts& facts, const TokenizerJson& json,
                           const TokenizerClass& row) {
  SpecialNames names = facts.names(row.rebuild || row.languages ? row.names : kBertNames);
  // A model without one has none, whatever the vocabulary holds.
  if (facts.alone() && !json.of_bert) names[Special::unk].clear();
  if (json.parts.model.unk_token) names[Special::unk] = *json.parts.model.unk_token;
  if (!json.frames || row.languages) return names;
  const Frame& single = json.frames->single;
  if (!single.before.empty()) names[Special::cls] = single.before.front().token;
  if (!single.after.empty()) names[Special::sep] = single.after.back().token;
  return names;
}

Frames written_frames(const TokenizerFacts& facts, const TokenizerJson& json,
                      const SpecialNames& names, const std::string& where) {
  if (json.frames) {
    if (json.of_bert && (json.frames->single.added() == 0 || json.frames->pair.added() == 0)) {
      unsupported(where, "post_processor: a template without special tokens is not supported");
    }
    return *json.frames;
  }
  if (facts.alone()) return {};
  if (!json.of_bert) return make_frames({"A", "A B:1"}, names);
  if (facts.bare) return make_frames(kBertFrame, names);
  unsupported(where, fmt::format("post_processor is null: no [CLS] and [SEP] around a text is not "
                                 "supported, unless tokenizer_class is {}, which has them",
                                 bert_class().name));
}

/// The length at which the file truncates, where no configuration says another.
std::optional<size_t> written_length(const TokenizerJson& json, const std::string& where) {
  if (json.truncates_left) {
    unsupported(where, "truncation from the left is not supported, wants the direction Right");
  }
  return json.truncation;
}

/// What the file says, where a class of RoBERTa takes some flags of the configuration.
TokenizerDraft written(TokenizerDraft draft, const TokenizerFacts& facts, TokenizerJson json,
                       const TokenizerClass& row) {
  TokenizerFiles& files = draft.files;
  files.names = written_names(facts, json, row);
  files.trim_offsets = json.trim_offsets;
  files.add_prefix_space = json.add_prefix_space;
  if (facts.alone()) files.model_max_length = written_length(json, draft.source);
  files.frames = row.languages ? make_frames(row.frame, files.names)
                               : written_frames(facts, json, files.names, draft.source);
  if (json.of_bert) {
    WordPieceOptions options;
    options.normalizer = json.parts.normalizers[0].bert;
    options.max_input_chars_per_word = json.parts.model.max_chars_per_word;
    files.lowercase = options.normalizer.lowercase;
    files.engine = options;
    return draft;
  }
  draft = with_parts(std::move(draft), facts, std::move(json.parts));
  if (row.source != ClassSource::byte_level) return draft;
  return with_byte_level_flags(std::move(draft), facts.flags);
}

/// A class that builds its tokenizer anew of the tables.
void rebuild(TokenizerJson& json, const TokenizerFacts& facts, const TokenizerClass& row) {
  const SpecialNames names = facts.names(row.names);
  row.rebuild->rebuild(json.parts, names, facts.flags);
  if (row.rebuild->own_frame) {
    json.trim_offsets = false;
    json.frames = make_frames(row.frame, names);
  }
}

/// The added tokens of the file and of others. added_tokens_decoder of the configuration comes
/// first, where there is one.
std::vector<WantedToken> wanted_tokens(const TokenizerFacts& facts, const TokenizerJson& json) {
  std::vector<WantedToken> tokens;
  for (const TokenizerJson::Added& added : json.added_tokens) {
    tokens.push_back({added.token, added.id, added.where});
  }
  const auto& others = facts.wanted;
  tokens.insert(facts.lists_tokens ? tokens.begin() : tokens.end(), others.begin(), others.end());
  return tokens;
}

/// T5's sentinels, unless the configuration lists its own.
void add_sentinels(std::vector<WantedToken>& wanted, const TokenizerFacts& facts,
                   const std::string& where) {
  const auto is_sentinel = [](const WantedToken& w) {
    return w.token.content.find("<extra_id_") != std::string::npos;
  };
  if (std::any_of(facts.wanted.begin(), facts.wanted.end(), is_sentinel)) return;
  for (size_t i = 0; i < facts.flags.sentinels; ++i) {
    AddedToken token;
    token.content = fmt::format("<extra_id_{}>", i);
    token.special = true;
    token.normalized = false;
    wanted.push_back({std::move(token), std::nullopt, where});
  }
}

}  // namespace

TokenizerDraft draft_of_tokenizer_json(const TokenizerFacts& facts) {
  TokenizerDraft draft = begin_draft(facts);
  TokenizerFiles& files = draft.files;
  TokenizerJson json = read_tokenizer_json(draft.source, !facts.alone());
  const TokenizerClass& row = choose_class(facts, json, draft.source);
  if (row.rebuild) rebuild(json, facts, row);
  files.vocab = std::move(json.vocab);
  files.decoders = json.parts.decoders;
  files.has_decoder = json.parts.has_decoder;
  if (json.of_bert && !files.has_decoder) {
    files.decoders.emplace_back();
    files.has_decoder = true;
  }
  draft.wanted = wanted_tokens(facts, json);
  if (row.rebuild && row.rebuild->sentinels) add_sentinels(draft.wanted, facts, draft.source);
  draft = row.source == ClassSource::wordpiece
              ? rebuilt(std::move(draft), facts, json, row)
              : written(std::move(draft), facts, std::move(json), row);
  if (facts.alone() || !facts.directory.has(file_names::kVocabTxt)) return draft;
  const std::string listing = facts.path(file_names::kVocabTxt);
  if (const size_t line = first_difference(listing, draft.files.vocab); line > 0) {
    draft.files.warnings.push_back(fmt::format(
        "{}: differs from vocab.txt from line {} on; tokenizer.json is used", draft.source, line));
  }
  return draft;
}

}  // namespace bert
