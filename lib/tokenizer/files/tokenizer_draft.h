#pragma once

#include <string>
#include <vector>

#include "tokenizer/files/tokenizer_facts.h"
#include "tokenizer/files/tokenizer_files.h"

namespace bert {

/// A tokenizer whose added tokens have no ids yet.
struct TokenizerDraft {
  TokenizerFiles files;  ///< without added tokens, and frames without ids
  std::vector<WantedToken> wanted;
  std::string source;        ///< the file that the vocabulary came from
  bool mask_lstrip = false;  ///< the mask token takes the white space on its left
};

/// Reads the vocabulary, and makes of it what the class makes of it that the facts name. Throws
/// Error (no_input, data, unsupported) naming the file.
TokenizerDraft draft_tokenizer(const TokenizerFacts& facts);

// Steps that drafts share

/// A draft with what the facts say of any tokenizer.
TokenizerDraft begin_draft(const TokenizerFacts& facts);
/// The class that is named, or else the model type's, if it knows languages; nullptr: it does not.
const TokenizerClass* language_class(const TokenizerFacts& facts);
/// The names of its languages, in the order of their ids; none if the files have the tokens.
std::vector<std::string> language_names(const LanguageRules& rules, std::string_view codes);
std::string language_token(const LanguageRules& rules, std::string_view name);
/// The names, the frame and the rules for offsets of a class that builds its tokenizer anew.
TokenizerDraft with_class(TokenizerDraft draft, const TokenizerFacts& facts,
                          const TokenizerClass& row);
/// A composition. Names that no file says are those that the vocabulary has.
TokenizerDraft with_parts(TokenizerDraft draft, const TokenizerFacts& facts, TokenizerParts parts);
/// The parts of a class of RoBERTa, which takes the blank before a text from the flags.
TokenizerDraft with_byte_level_flags(TokenizerDraft draft, const TokenizerFlags& flags);
/// The normalizer of a class of BERT.
NormalizerOptions bert_normalizer(const TokenizerFlags& flags);

}  // namespace bert
