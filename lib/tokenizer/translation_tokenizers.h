#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/export.h"
#include "tokenizer/files/sentencepiece_file.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// The two tokenizers of a model that reads one language and writes another.
///
/// A directory with source.spm is Marian's, and both are what MarianTokenizer of transformers 5.23
/// is for a text and for a `text_target`: pieces of source.spm or target.spm, their ids from
/// vocab.json (of the target from target_vocab.json, if tokenizer_config.json says
/// separate_vocabs), </s> behind them. A text may begin with a language's code, ">>fr<<". The
/// target decodes by target.spm: its pieces are those that the model wrote. transformers decodes by
/// source.spm unless it is told otherwise, which differs where the two files treat a spelling
/// otherwise. Special tokens of the target are those of its own vocabulary.
///
/// Any other directory has one tokenizer, and both are that one.
///
/// Thread rule: as Tokenizer.
struct BERT_API TranslationTokenizers {
  Tokenizer source;
  Tokenizer target;

  /// Throws Error (no_input, data, unsupported) naming the file.
  static TranslationTokenizers open(const ModelDirectory& directory);
};

struct TranslationFilesOptions {
  bool separate_vocabs = false;  ///< target_vocab.json; else one vocab.json has all pieces
  size_t model_max_length = 512;
  std::string source_lang, target_lang;  ///< "": not said
};

/// The files that open() and transformers' MarianTokenizer read, by name: source.spm, target.spm,
/// vocab.json, tokenizer_config.json, and target_vocab.json if the vocabularies are separate. </s>
/// is 0, <unk> is 1, the pieces follow, those of the source first, and <pad> is the last: the token
/// with which Marian begins a target.
BERT_API std::vector<std::pair<std::string, std::string>> translation_files(
    const SentencePieceFile& source, const SentencePieceFile& target,
    const TranslationFilesOptions& options);

}  // namespace bert
