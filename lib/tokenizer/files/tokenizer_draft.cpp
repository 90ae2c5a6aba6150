#include "tokenizer/files/tokenizer_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "directory/file_names.h"
#include "io/json.h"
#include "tokenizer/files/json_draft.h"
#include "tokenizer/files/merges_txt.h"
#include "tokenizer/files/sentencepiece_parts.h"
#include "tokenizer/files/tokenizer_json.h"
#include "tokenizer/files/vocab_txt.h"

namespace bert {
namespace {

constexpr std::string_view kOtherCodes = "wmt21";  // of language_codes

[[noreturn]] void unsupported(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::unsupported, where, what);
}

/// transformers invents a row past the model's last one for a missing token; nothing could be
/// computed with it.
void require_token(const TokenizerDraft& draft, const std::string& name) {
  if (draft.files.vocab.find(name) >= 0) return;
  throw Error(Error::Kind::data, draft.source, fmt::format("has no token {}", printable(name)));
}

Vocab read_vocab_json(const TokenizerFacts& facts, std::string_view name) {
  const auto document = facts.directory.large_document(name, kLargestVocabulary, kManyKeys);
  return read_vocabulary(document->root(), Vocab("", 0));
}

/// Each line of vocab.txt is an added token; those with a name are special.
TokenizerDraft draft_of_list(const TokenizerFacts& facts) {
  TokenizerDraft draft = begin_draft(facts);
  TokenizerFiles& files = draft.files;
  read_vocab_txt(draft.source, files.vocab, files.warnings);
  draft = with_class(std::move(draft), facts, facts.row());
  const auto& names = files.names.values;
  for (size_t id = 0; id < files.vocab.size(); ++id) {
    AddedToken token;
    token.content = files.vocab.text(static_cast<int32_t>(id));
    token.normalized = false;
    token.special = std::find(names.begin(), names.end(), token.content) != names.end();
    draft.wanted.push_back({std::move(token), std::nullopt, draft.source});
  }
  files.engine = OnlyAddedTokens{};
  files.has_decoder = false;
  return draft;
}

/// BERT's WordPiece, whichever class is named.
TokenizerDraft draft_of_vocab_txt(const TokenizerFacts& facts) {
  if (facts.row().source == ClassSource::listed) return draft_of_list(facts);
  TokenizerDraft draft = begin_draft(facts);
  TokenizerFiles& files = draft.files;
  WordPieceOptions options;
  options.normalizer = bert_normalizer(facts.flags);
  files.vocab = Vocab("##", options.max_input_chars_per_word * 4);
  read_vocab_txt(draft.source, files.vocab, files.warnings);
  files.lowercase = options.normalizer.lowercase;
  files.engine = options;
  files.decoders.emplace_back();
  const TokenizerClass& row = facts.row();
  return with_class(std::move(draft), facts,
                    row.source == ClassSource::wordpiece ? row : bert_class());
}

/// The frame of a class that asks the configuration for it.
Frames frames_of_flags(const TokenizerFlags& flags, const SpecialNames& names) {
  const bool bos = flags.add_bos_token.value_or(false) && !names[Special::bos].empty();
  const bool eos = flags.add_eos_token.value_or(false) && !names[Special::eos].empty();
  const std::string single = fmt::format("{}A{}", bos ? "bos " : "", eos ? " eos" : "");
  const std::string pair =
      fmt::format("{}{} B:1{}", single, bos ? " bos:1" : "", eos ? " eos:1" : "");
  return make_frames({single, pair}, names);
}

/// A byte-level BPE, as its class in transformers builds it of vocab.json and merges.txt: RoBERTa's
/// where none is named.
TokenizerDraft draft_of_vocab_json(const TokenizerFacts& facts) {
  const TokenizerClass& row = facts.named ? *facts.named : roberta_class();
  const bool rebuilds = row.rebuild && row.rebuild->of_vocab_json;
  if (row.source != ClassSource::byte_level && !rebuilds) {
    unsupported(facts.path(file_names::kTokenizerConfig),
                fmt::format("the tokenizer {} without a tokenizer.json is not supported, wants {} "
                            "for vocab.json and merges.txt",
                            row.name, roberta_class().name));
  }
  TokenizerDraft draft = begin_draft(facts);
  draft.files.vocab = read_vocab_json(facts, facts.vocabulary_file);
  TokenizerParts parts;
  parts.model.kind = SubwordPart::Kind::bpe;
  parts.model.where = facts.path(file_names::kMerges);
  parts.model.merges = read_merges_txt(parts.model.where);
  parts.pre_tokenizers.emplace_back().kind = PreTokenizerPart::Kind::byte_level;
  parts.decoders.emplace_back().kind = DecoderPart::Kind::byte_level;
  draft = with_class(std::move(draft), facts, row);
  if (rebuilds) {
    row.rebuild->rebuild(parts, draft.files.names, facts.flags);
    draft.files.frames = frames_of_flags(facts.flags, draft.files.names);
  }
  draft.files.decoders = parts.decoders;
  draft = with_parts(std::move(draft), facts, std::move(parts));
  return rebuilds ? draft : with_byte_level_flags(std::move(draft), facts.flags);
}

/// The names of the classes that read a model file of sentencepiece: "A, B and C".
std::string readers_of_sentencepiece() {
  std::vector<std::string_view> names;
  for (const TokenizerClass& row : tokenizer_classes()) {
    if (row.sentencepiece) names.push_back(row.name);
  }
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

/// Tokens as they are wanted, where `names` come before others without an id.
std::vector<WantedToken> with_named_first(std::vector<WantedToken> wanted,
                                          const std::vector<std::string>& names,
                                          const std::string& source) {
  auto place =
      std::find_if(wanted.begin(), wanted.end(), [](const WantedToken& w) { return !w.id; });
  for (const std::string& name : names) {
    const auto known = std::find_if(place, wanted.end(),
                                    [&](const WantedToken& w) { return w.token.content == name; });
    if (known == wanted.end()) {
      AddedToken token;
      token.content = name;
      token.special = true;
      place = wanted.insert(place, {std::move(token), std::nullopt, source});
    } else {
      std::rotate(place, known, known + 1);
    }
    ++place;
  }
  return wanted;
}

/// The special tokens of a class of named pieces, in the order in which they get ids: a class of
/// its own has the end, the unknown token, padding and perhaps a beginning; files may name more.
std::vector<std::string> names_of_pieces(const TokenizerFacts& facts, const TokenizerClass& row,
                                         const SpecialNames& names) {
  std::vector<std::string> list;
  for (const Special s : {Special::bos, Special::eos, Special::unk, Special::sep, Special::pad,
                          Special::cls, Special::mask}) {
    const bool own = s == Special::eos || s == Special::unk || s == Special::pad ||
                     (s == Special::bos && !row.names[s].empty());
    if (own || facts.said[s]) list.push_back(names[s]);
  }
  return list;
}

/// Pieces of the model `model` with the ids of `vocab`.
TokenizerDraft draft_of_named_pieces(const TokenizerFacts& facts, const TokenizerClass& row,
                                     const std::string& model, std::string_view vocab) {
  TokenizerDraft draft = begin_draft(facts);
  TokenizerFiles& files = draft.files;
  draft.source = facts.path(vocab);
  files.vocab = read_vocab_json(facts, vocab);
  SentencePieceFile file = read_sentencepiece_file(model);
  if (file.has_denormalizer) {
    unsupported(model, "has a denormalizer_spec with replacements, which is not supported");
  }
  files.engine = std::make_shared<const SentencePiece>(std::move(file), model);
  files.names = facts.names(row.names);
  if (!facts.said[Special::sep]) files.names[Special::sep] = files.names[Special::eos];
  files.frames = make_frames(row.frame, files.names);
  require_token(draft, files.names[Special::unk]);
  require_token(draft, files.names[Special::eos]);
  draft.wanted = with_named_first(std::move(draft.wanted), names_of_pieces(facts, row, files.names),
                                  draft.source);
  if (row.languages) {  // in a text they are tokens only if the files list them
    for (const std::string& name : language_names(*row.languages, facts.language_codes)) {
      files.vocab.add(language_token(*row.languages, name));
    }
  }
  for (WantedToken& wanted : draft.wanted) wanted.token.normalized = false;
  return draft;
}

/// Marian's tokenizer of the source or of the target.
TokenizerDraft draft_of_marian(const TokenizerFacts& facts) {
  const TokenizerClass& row = marian_class();
  if (facts.named && facts.named->own_tokens && facts.named->source != row.source) {
    unsupported(facts.path(facts.vocabulary_file),
                fmt::format("is read for {}, not for {}", row.name, facts.named->name));
  }
  const bool target = facts.side == TokenizerSide::target;
  const bool own = target && facts.flags.separate_vocabs.value_or(false);
  return draft_of_named_pieces(
      facts, row, facts.path(target ? file_names::kTargetPieces : file_names::kSourcePieces),
      own ? file_names::kTargetVocab : file_names::kVocabJson);
}

/// A model file of sentencepiece, as the class that is named makes a tokenizer of it.
TokenizerDraft draft_of_sentencepiece(const TokenizerFacts& facts) {
  TokenizerDraft draft = begin_draft(facts);
  const TokenizerClass* row = facts.named ? facts.named : facts.of_type;
  if (row && row->source == ClassSource::named_pieces) {
    return draft_of_named_pieces(facts, *row, draft.source, file_names::kVocabJson);
  }
  if (!row || !row->sentencepiece) {
    const SentencePieceFile file = read_sentencepiece_file(draft.source);
    if (file.model != SentencePieceFile::Model::unigram) refuse_model(file, draft.source);
    const bool named = facts.named && facts.named != &any_class();  // which stands for several
    unsupported(draft.source,
                fmt::format("is read for {}, {}", readers_of_sentencepiece(),
                            named ? fmt::format("not for {}", facts.named->name)
                                  : "and tokenizer_config.json and config.json name none "
                                    "of them"));
  }
  TokenizerFiles& files = draft.files;
  files.names = facts.names(row->names);
  files.frames = make_frames(row->frame, files.names);
  SentencePieceTokenizer made = make_tokenizer(read_sentencepiece_file(draft.source), *row,
                                               files.names, facts.flags, draft.source);
  files.vocab = std::move(made.vocab);
  files.lowercase = made.lowercase;
  files.decoders = made.parts.decoders;
  files.engine = std::move(made.parts);
  for (AddedToken& token : made.added) {
    draft.wanted.push_back({std::move(token), std::nullopt, draft.source});
  }
  return draft;
}

/// Names that no file says: those that the vocabulary has.
SpecialNames known_names(SpecialNames names, const TokenizerFacts& facts, const Vocab& vocab) {
  for (const Special s : kNamedTokens) {
    if (facts.said[s] || vocab.find(names[s]) >= 0) continue;
    for (const std::string_view choice : {roberta_class().names[s], kBertNames[s]}) {
      if (vocab.find(choice) >= 0) names[s] = choice;
    }
  }
  return names;
}

}  // namespace

const TokenizerClass* language_class(const TokenizerFacts& facts) {
  const TokenizerClass* row = facts.named ? facts.named : facts.of_type;
  return row && row->languages && !facts.bare ? row : nullptr;
}

std::vector<std::string> language_names(const LanguageRules& rules, std::string_view codes) {
  const bool other = codes == kOtherCodes && !rules.other_names.empty();
  std::vector<std::string> names;
  for (const std::string_view name : split(other ? rules.other_names : rules.names, ' ')) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

std::string language_token(const LanguageRules& rules, std::string_view name) {
  return std::string(rules.marks).append(name).append(rules.marks);
}

TokenizerDraft begin_draft(const TokenizerFacts& facts) {
  TokenizerDraft draft;
  draft.source = facts.path(facts.vocabulary_file);
  draft.wanted = facts.wanted;
  draft.files.text_cleanup = facts.text_cleanup;
  draft.files.truncates_left = facts.truncates_left;
  draft.files.model_max_length = facts.model_max_length;
  return draft;
}

TokenizerDraft with_class(TokenizerDraft draft, const TokenizerFacts& facts,
                          const TokenizerClass& row) {
  draft.files.names = facts.names(row.names);
  draft.files.frames = make_frames(row.frame, draft.files.names);
  draft.files.trim_offsets = row.trims_offsets;
  draft.mask_lstrip = row.trims_offsets && row.source == ClassSource::wordpiece;
  return draft;
}

TokenizerDraft with_parts(TokenizerDraft draft, const TokenizerFacts& facts, TokenizerParts parts) {
  TokenizerFiles& files = draft.files;
  for (const NormalizerPart& part : parts.normalizers) {
    files.lowercase |= part.kind == NormalizerPart::Kind::lowercase ||
                       (part.kind == NormalizerPart::Kind::bert && part.bert.lowercase);
  }
  // transformers cleans up no text of BPE, whatever the configuration says.
  if (parts.model.kind == SubwordPart::Kind::bpe) files.text_cleanup = false;
  const bool own_names = facts.named && facts.named->rebuild;
  if (!facts.alone() && !own_names)
    files.names = known_names(std::move(files.names), facts, files.vocab);
  files.engine = std::move(parts);
  return draft;
}

TokenizerDraft with_byte_level_flags(TokenizerDraft draft, const TokenizerFlags& flags) {
  TokenizerFiles& files = draft.files;
  const bool prefix = flags.add_prefix_space.value_or(false);
  for (PreTokenizerPart& part : std::get<TokenizerParts>(files.engine).pre_tokenizers) {
    part.add_prefix_space = prefix;
  }
  if (files.trim_offsets) files.trim_offsets = flags.trim_offsets.value_or(true);
  files.add_prefix_space = prefix;
  return draft;
}

NormalizerOptions bert_normalizer(const TokenizerFlags& flags) {
  const bool lowercase = flags.lowercase.value_or(true);
  return {true, flags.handle_chinese_chars.value_or(true), flags.strip_accents.value_or(lowercase),
          lowercase};
}

TokenizerDraft draft_tokenizer(const TokenizerFacts& facts) {
  switch (facts.vocabulary) {
    case VocabularyFiles::marian:
      return draft_of_marian(facts);
    case VocabularyFiles::tokenizer_json:
      return draft_of_tokenizer_json(facts);
    case VocabularyFiles::vocab_json:
      return draft_of_vocab_json(facts);
    case VocabularyFiles::vocab_txt:
      return draft_of_vocab_txt(facts);
    case VocabularyFiles::sentencepiece:
      break;
  }
  return draft_of_sentencepiece(facts);
}

}  // namespace bert
