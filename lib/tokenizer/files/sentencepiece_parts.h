#pragma once

#include <string>
#include <vector>

#include "tokenizer/classes.h"
#include "tokenizer/files/sentencepiece_file.h"
#include "tokenizer/files/tokenizer_facts.h"
#include "tokenizer/parts/added_tokens.h"
#include "tokenizer/parts/tokenizer_parts.h"
#include "tokenizer/vocab.h"

namespace bert {

/// A tokenizer made of a model file of sentencepiece.
struct SentencePieceTokenizer {
  Vocab vocab{"", 0};  ///< closed
  TokenizerParts parts;
  std::vector<AddedToken> added;  ///< in the order in which those without an id get one
  bool lowercase = false;
};

/// The tokenizer that transformers 5.23 builds from a model file, when a directory has no
/// tokenizer.json: each class has its own ids and its own rules, `row.sentencepiece`. `names` are
/// those of the special tokens. Throws Error (data, unsupported) naming the file `where`.
SentencePieceTokenizer make_tokenizer(const SentencePieceFile& file, const TokenizerClass& row,
                                      const SpecialNames& names, const TokenizerFlags& flags,
                                      const std::string& where);

/// Throws Error(unsupported) that names the kind of the model, of which no tokenizer is made.
[[noreturn]] void refuse_model(const SentencePieceFile& file, const std::string& where);

}  // namespace bert
