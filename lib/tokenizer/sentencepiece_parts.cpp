#include "tokenizer/sentencepiece_parts.h"

#include <fmt/format.h>

#include "base/error.h"

namespace bert {
namespace {

using Normalize = NormalizerPart::Kind;
using Cut = PreTokenizerPart::Kind;
using Type = SentencePieceFile::Type;

/// The vocabulary of a class and the scores of its pieces.
class Pieces {
 public:
  void add(std::string_view text, double score) {
    vocab.add(text);
    scores.push_back(score);
  }
  /// Pieces of the file from number `first` on.
  void add_from(const SentencePieceFile& file, size_t first) {
    for (size_t i = first; i < file.pieces.size(); ++i) {
      add(file.pieces[i].text, double{file.pieces[i].score});
    }
  }

  Vocab vocab{"", 0};
  std::vector<double> scores;
};

/// Fairseq's special tokens come first, so that the ids are not those of the file.
Pieces make_pieces(const SentencePieceFile& file, SentencePieceClass kind,
                   const SentencePieceOptions& o) {
  Pieces pieces;
  if (kind == SentencePieceClass::xlm_roberta) {
    for (const std::string* name : {&o.bos, &o.pad, &o.eos, &o.unk}) pieces.add(*name, 0);
    pieces.add_from(file, 3);
    pieces.add(o.mask, 0);
  } else if (kind == SentencePieceClass::camembert) {
    pieces.add("<s>NOTUSED", 0);
    pieces.add(o.pad, 0);
    pieces.add("</s>NOTUSED", 0);
    pieces.add(o.unk, 0);
    pieces.add("<unk>NOTUSED", -100);
    pieces.add_from(file, 1);
    pieces.add(o.mask, 0);
  } else {
    pieces.add_from(file, 0);
  }
  return pieces;
}

/// Where the class looks for the unknown piece.
int32_t unknown_id(const SentencePieceFile& file, SentencePieceClass kind,
                   const SentencePieceOptions& o, const Pieces& pieces) {
  if (kind == SentencePieceClass::xlm_roberta) return 3;
  if (kind == SentencePieceClass::albert) return 1;
  const bool any_score = kind == SentencePieceClass::camembert;
  for (size_t id = 0; id < pieces.scores.size(); ++id) {
    const bool named = pieces.vocab.text(static_cast<int32_t>(id)) == o.unk;
    if (named && (any_score || pieces.scores[id] == 0)) return static_cast<int32_t>(id);
  }
  return any_score ? 0 : file.unk_id;
}

NormalizerPart& add(std::vector<NormalizerPart>& parts, Normalize kind) {
  NormalizerPart& part = parts.emplace_back();
  part.kind = kind;
  return part;
}

void add_charsmap(std::vector<NormalizerPart>& parts, const SentencePieceFile& file,
                  Charsmap::Rule rule, const std::string& where) {
  if (file.charsmap.empty()) return;
  add(parts, Normalize::precompiled).charsmap.emplace(file.charsmap, where, rule);
}

void normalize_albert(std::vector<NormalizerPart>& parts, const SentencePieceOptions& o) {
  for (const char* quotes : {"``", "''"}) {
    NormalizerPart& part = add(parts, Normalize::replace_text);
    part.pattern = quotes;
    part.content = "\"";
  }
  if (!o.keep_accents.value_or(false)) {
    add(parts, Normalize::normal_form).form = NormalForm::nfkd;
    add(parts, Normalize::strip_accents);
  }
  if (o.lowercase.value_or(true)) add(parts, Normalize::lowercase);
}

/// transformers 5.23 leaves out the charsmap of DeBERTa's file, with which the models were trained,
/// and normalises to NFC in its place. sentencepiece is right here, so the charsmap is applied, by
/// sentencepiece's rule. Only a file without one is read as transformers reads it.
void normalize_deberta(std::vector<NormalizerPart>& parts, const SentencePieceFile& file,
                       const SentencePieceOptions& o, const std::string& where) {
  if (o.lowercase.value_or(false)) add(parts, Normalize::lowercase);
  if (file.charsmap.empty()) {
    add(parts, Normalize::replace_white).content = " ";
    add(parts, Normalize::normal_form).form = NormalForm::nfc;
  } else {
    add_charsmap(parts, file, Charsmap::Rule::longest, where);
    add(parts, Normalize::replace_blanks).content = " ";
  }
  NormalizerPart& strip = add(parts, Normalize::strip);
  strip.right = true;
  strip.only_blanks = !file.charsmap.empty();
}

void set_parts(const SentencePieceFile& file, SentencePieceClass kind,
               const SentencePieceOptions& o, const std::string& where, TokenizerParts& parts) {
  using Prepend = PreTokenizerPart::Prepend;
  const bool prefix = o.add_prefix_space.value_or(true);
  Prepend prepend = prefix ? Prepend::always : Prepend::never;
  if (kind == SentencePieceClass::deberta_v2) {
    normalize_deberta(parts.normalizers, file, o, where);
    if (o.split_by_punct.value_or(false)) {
      parts.pre_tokenizers.emplace_back().kind = Cut::punctuation;
    }
    if (!prefix) prepend = Prepend::first;
  } else {
    if (kind == SentencePieceClass::albert) normalize_albert(parts.normalizers, o);
    add_charsmap(parts.normalizers, file, Charsmap::Rule::clusters, where);
    parts.pre_tokenizers.emplace_back().kind = Cut::whitespace_split;
  }
  PreTokenizerPart& marks = parts.pre_tokenizers.emplace_back();
  marks.kind = Cut::metaspace;
  marks.prepend = prepend;
  DecoderPart& decoder = parts.decoders.emplace_back();
  decoder.kind = DecoderPart::Kind::metaspace;
  decoder.drops_first = prepend != Prepend::never;
  parts.has_decoder = true;
}

/// Special tokens by name, then those that the file has: control pieces, and user-defined ones,
/// which are found in the text before it is split.
std::vector<AddedToken> added_tokens(const SentencePieceFile& file, SentencePieceClass kind,
                                     const SentencePieceOptions& o) {
  std::vector<AddedToken> tokens;
  const auto add = [&](const std::string& content, bool special) {
    AddedToken& token = tokens.emplace_back();
    token.content = content;
    token.special = special;
    token.normalized = false;
  };
  for (const std::string* name : {&o.bos, &o.eos, &o.unk, &o.sep, &o.pad, &o.cls, &o.mask}) {
    add(*name, true);
  }
  tokens.back().lstrip = kind == SentencePieceClass::camembert;
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    const bool control = piece.type == Type::control;
    if (control || piece.type == Type::user_defined) add(piece.text, control);
  }
  return tokens;
}

}  // namespace

std::optional<SentencePieceClass> sentencepiece_class(std::string_view tokenizer_class) {
  constexpr std::pair<std::string_view, SentencePieceClass> kClasses[] = {
      {"xlmrobertatokenizer", SentencePieceClass::xlm_roberta},
      {"camemberttokenizer", SentencePieceClass::camembert},
      {"alberttokenizer", SentencePieceClass::albert},
      {"debertav2tokenizer", SentencePieceClass::deberta_v2}};
  std::string name;
  for (char c : tokenizer_class) {
    if (c != '-') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  }
  for (const auto& [known, kind] : kClasses) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

SentencePieceOptions default_options(SentencePieceClass kind) {
  SentencePieceOptions o;
  if (kind == SentencePieceClass::xlm_roberta || kind == SentencePieceClass::camembert) {
    o.bos = o.cls = "<s>";
    o.eos = o.sep = "</s>";
    o.unk = "<unk>";
    o.pad = "<pad>";
    o.mask = "<mask>";
    return o;
  }
  o.bos = o.cls = "[CLS]";
  o.eos = o.sep = "[SEP]";
  o.mask = "[MASK]";
  const bool albert = kind == SentencePieceClass::albert;
  o.unk = albert ? "<unk>" : "[UNK]";
  o.pad = albert ? "<pad>" : "[PAD]";
  return o;
}

SentencePieceTokenizer make_tokenizer(const SentencePieceFile& file, SentencePieceClass kind,
                                      const SentencePieceOptions& options,
                                      const std::string& where) {
  if (file.model != SentencePieceFile::Model::unigram) {
    throw Error(Error::Kind::unsupported, where,
                "a model of sentencepiece that is not of type unigram is not supported");
  }
  SentencePieceTokenizer made;
  Pieces pieces = make_pieces(file, kind, options);
  pieces.vocab.close();
  made.parts.model.kind = SubwordPart::Kind::unigram;
  made.parts.model.unk_id = unknown_id(file, kind, options, pieces);
  made.parts.model.scores = std::move(pieces.scores);
  made.parts.model.where = where;
  made.vocab = std::move(pieces.vocab);
  set_parts(file, kind, options, where, made.parts);
  made.added = added_tokens(file, kind, options);
  const bool of_fairseq =
      kind == SentencePieceClass::xlm_roberta || kind == SentencePieceClass::camembert;
  made.frames = of_fairseq ? Frames::of_roberta(options.bos, options.eos)
                           : Frames::of_bert(options.cls, options.sep);
  made.lowercase = options.lowercase.value_or(kind == SentencePieceClass::albert) && !of_fairseq;
  return made;
}

}  // namespace bert
