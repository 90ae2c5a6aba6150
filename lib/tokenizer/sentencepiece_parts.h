#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/frame.h"
#include "tokenizer/sentencepiece_file.h"
#include "tokenizer/tokenizer_parts.h"
#include "tokenizer/vocab.h"

namespace bert {

/// The tokenizers that transformers 5.23 builds from a model file of sentencepiece, when a
/// directory has no tokenizer.json. Each has its own ids and its own rules.
enum class SentencePieceClass { xlm_roberta, camembert, albert, deberta_v2 };

/// The class with the name that transformers gives it, or of the model type that it belongs to;
/// nullopt: none of these. Capitals and hyphens do not count.
std::optional<SentencePieceClass> sentencepiece_class(std::string_view tokenizer_class);

/// What tokenizer_config.json may say; a class has its own defaults.
struct SentencePieceOptions {
  std::string bos, eos, unk, sep, pad, cls, mask;  ///< names of special tokens
  std::optional<bool> lowercase;
  std::optional<bool> keep_accents;
  std::optional<bool> split_by_punct;
  std::optional<bool> add_prefix_space;
};

/// The names of a class, with nothing else said.
SentencePieceOptions default_options(SentencePieceClass kind);

/// A tokenizer made of a model file.
struct SentencePieceTokenizer {
  Vocab vocab{"", 0};  ///< closed
  TokenizerParts parts;
  std::vector<AddedToken> added;  ///< in the order in which those without an id get one
  Frames frames;
  bool lowercase = false;
};

/// Throws Error (data, unsupported) naming the file `where`.
SentencePieceTokenizer make_tokenizer(const SentencePieceFile& file, SentencePieceClass kind,
                                      const SentencePieceOptions& options,
                                      const std::string& where);

}  // namespace bert
