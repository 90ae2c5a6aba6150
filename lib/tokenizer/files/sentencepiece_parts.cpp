#include "tokenizer/files/sentencepiece_parts.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tokenizer/files/tokenizer_draft.h"

namespace bert {
namespace {

using Normalize = NormalizerPart::Kind;
using Cut = PreTokenizerPart::Kind;
using Type = SentencePieceFile::Type;
using Rules = SentencePieceRules;

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
Pieces make_pieces(const SentencePieceFile& file, const TokenizerClass& row,
                   const SpecialNames& names, const TokenizerFlags& flags) {
  const Rules::Order order = row.sentencepiece->order;
  Pieces pieces;
  if (order == Rules::Order::pegasus) {
    // The order of the models that were trained; transformers 5.24 may take another.
    constexpr int kUnused = 103;
    for (const std::string& name : {names[Special::pad], names[Special::eos],
                                    std::string("<mask_1>"), names[Special::mask]}) {
      pieces.add(name, 0);
    }
    for (int i = 2; i < kUnused; ++i) pieces.add(fmt::format("<unk_{}>", i), -100);
    pieces.add_from(file, 2);
  } else if (order == Rules::Order::fairseq) {
    for (const Special s : {Special::bos, Special::pad, Special::eos, Special::unk}) {
      pieces.add(names[s], 0);
    }
    pieces.add_from(file, 3);
    if (row.languages) {
      for (const std::string& name : language_names(*row.languages, "")) pieces.add(name, 0);
    }
    pieces.add(names[Special::mask], 0);
  } else if (order == Rules::Order::fairseq_unused) {
    pieces.add("<s>NOTUSED", 0);
    pieces.add(names[Special::pad], 0);
    pieces.add("</s>NOTUSED", 0);
    pieces.add(names[Special::unk], 0);
    pieces.add("<unk>NOTUSED", -100);
    pieces.add_from(file, 1);
    pieces.add(names[Special::mask], 0);
  } else {
    pieces.add_from(file, 0);
  }
  for (size_t i = row.sentencepiece->sentinels ? flags.sentinels : 0; i-- > 0;) {
    pieces.add(fmt::format("<extra_id_{}>", i), 0);
  }
  return pieces;
}

/// The piece without a score that has the unknown token's name.
int32_t unknown_id(const SentencePieceFile& file, const Pieces& pieces, const std::string& name) {
  for (size_t id = 0; id < pieces.scores.size(); ++id) {
    const bool named = pieces.vocab.text(static_cast<int32_t>(id)) == name;
    if (named && pieces.scores[id] == 0) return static_cast<int32_t>(id);
  }
  return file.unk_id;
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

void normalize_albert(std::vector<NormalizerPart>& parts, bool keep_accents, bool lowercase) {
  for (const char* quotes : {"``", "''"}) {
    NormalizerPart& part = add(parts, Normalize::replace_text);
    part.pattern = quotes;
    part.content = "\"";
  }
  if (!keep_accents) {
    add(parts, Normalize::normal_form).form = NormalForm::nfkd;
    add(parts, Normalize::strip_accents);
  }
  if (lowercase) add(parts, Normalize::lowercase);
}

/// transformers 5.23 leaves out the charsmap of DeBERTa's file, with which the models were trained,
/// and normalises to NFC in its place. sentencepiece is right here, so the charsmap is applied, by
/// sentencepiece's rule. Only a file without one is read as transformers reads it.
void normalize_deberta(std::vector<NormalizerPart>& parts, const SentencePieceFile& file,
                       bool lowercase, const std::string& where) {
  if (lowercase) add(parts, Normalize::lowercase);
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

/// `lines`: without a charsmap, the end of a line is a blank, too.
void normalize_blanks(std::vector<NormalizerPart>& parts, const SentencePieceFile& file, bool lines,
                      const std::string& where) {
  add_charsmap(parts, file, Charsmap::Rule::clusters, where);
  if (lines && file.charsmap.empty()) {
    NormalizerPart& line = add(parts, Normalize::replace_text);
    line.pattern = "\n";
    line.content = " ";
  }
  add(parts, Normalize::replace_blanks).content = " ";
}

TokenizerParts make_parts(const SentencePieceFile& file, const Rules& rules,
                          const TokenizerFlags& flags, const std::string& where) {
  using Prepend = PreTokenizerPart::Prepend;
  TokenizerParts parts;
  const bool prefix = flags.add_prefix_space.value_or(true);
  const bool lowercase = flags.lowercase.value_or(rules.lowercase);
  Prepend prepend = prefix ? Prepend::always : Prepend::never;
  if (rules.normalizer == Rules::Normalizer::deberta) {
    normalize_deberta(parts.normalizers, file, lowercase, where);
    if (flags.split_by_punct.value_or(false)) {
      parts.pre_tokenizers.emplace_back().kind = Cut::punctuation;
    }
    if (!prefix) prepend = Prepend::first;
  } else if (rules.normalizer == Rules::Normalizer::blanks) {
    normalize_blanks(parts.normalizers, file, rules.order == Rules::Order::pegasus, where);
  } else {
    if (rules.normalizer == Rules::Normalizer::albert) {
      normalize_albert(parts.normalizers, flags.keep_accents.value_or(false), lowercase);
    }
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
  return parts;
}

/// Special tokens by name, then those that the file has: control pieces, and user-defined ones,
/// which are found in the text before it is split.
std::vector<AddedToken> added_tokens(const SentencePieceFile& file, const SpecialNames& names,
                                     const TokenizerClass& row, const TokenizerFlags& flags) {
  std::vector<AddedToken> tokens;
  const auto add = [&](const std::string& content, bool special) {
    AddedToken& token = tokens.emplace_back();
    token.content = content;
    token.special = special;
    token.normalized = false;
  };
  for (const Special s : {Special::bos, Special::eos, Special::unk, Special::sep, Special::pad,
                          Special::cls, Special::mask}) {
    add(names[s], true);
  }
  tokens.back().lstrip = row.sentencepiece->mask_lstrip;
  if (row.languages) {
    for (const std::string& name : language_names(*row.languages, "")) add(name, true);
  }
  for (size_t i = 0; row.sentencepiece->sentinels && i < flags.sentinels; ++i) {
    add(fmt::format("<extra_id_{}>", i), true);
  }
  for (int i = 1; row.sentencepiece->order == Rules::Order::pegasus && i < 103; ++i) {
    add(i == 1 ? "<mask_1>" : fmt::format("<unk_{}>", i), true);
  }
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    const bool control = piece.type == Type::control;
    if (control || piece.type == Type::user_defined) add(piece.text, control);
  }
  return tokens;
}

}  // namespace

void refuse_model(const SentencePieceFile& file, const std::string& where) {
  constexpr std::string_view kKinds[] = {"Unigram", "BPE", "words", "characters"};
  throw Error(Error::Kind::unsupported, where,
              fmt::format("a model of sentencepiece of the kind {}, which is read from "
                          "tokenizer.json alone; save_pretrained of transformers writes one",
                          kKinds[static_cast<size_t>(file.model) - 1]));
}

SentencePieceTokenizer make_tokenizer(const SentencePieceFile& file, const TokenizerClass& row,
                                      const SpecialNames& names, const TokenizerFlags& flags,
                                      const std::string& where) {
  if (file.model != SentencePieceFile::Model::unigram) refuse_model(file, where);
  const Rules& rules = *row.sentencepiece;
  SentencePieceTokenizer made;
  Pieces pieces = make_pieces(file, row, names, flags);
  pieces.vocab.close();
  made.parts = make_parts(file, rules, flags, where);
  made.parts.model.kind = SubwordPart::Kind::unigram;
  made.parts.model.unk_id =
      rules.unk_id ? *rules.unk_id : unknown_id(file, pieces, names[Special::unk]);
  made.parts.model.scores = std::move(pieces.scores);
  made.parts.model.where = where;
  made.vocab = std::move(pieces.vocab);
  made.added = added_tokens(file, names, row, flags);
  made.lowercase = rules.normalizer != Rules::Normalizer::charsmap &&
                   rules.normalizer != Rules::Normalizer::blanks &&
                   flags.lowercase.value_or(rules.lowercase);
  return made;
}

}  // namespace bert
