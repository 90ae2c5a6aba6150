#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "directory/model_directory.h"
#include "tokenizer/classes.h"
#include "tokenizer/parts/added_tokens.h"

namespace bert {

/// Which tokenizer of a directory is read.
enum class TokenizerSide {
  source,  ///< the usual one; the source's, of Marian's two
  target,  ///< the target's, of Marian's two
  alone    ///< tokenizer.json says all, whatever stands beside it
};

/// The files that hold the vocabulary.
enum class VocabularyFiles { marian, tokenizer_json, vocab_json, vocab_txt, sentencepiece };

/// The flags of tokenizer_config.json; nullopt: not said.
struct TokenizerFlags {
  std::optional<bool> lowercase;
  std::optional<bool> handle_chinese_chars;
  std::optional<bool> strip_accents;
  std::optional<bool> keep_accents;
  std::optional<bool> split_by_punct;
  std::optional<bool> add_prefix_space;
  std::optional<bool> trim_offsets;
  std::optional<bool> add_bos_token, add_eos_token;
  std::optional<bool> separate_vocabs;
  std::optional<bool> legacy;
  std::optional<bool> legacy_behaviour;  ///< NLLB's: the language stands behind a text
  size_t sentinels = 100;                ///< extra_ids of T5
};

/// An added token that a file asks for.
struct WantedToken {
  AddedToken token;
  std::optional<int64_t> id;
  std::string where;  ///< for messages
};

/// What the files of a directory say about its tokenizer, beside the vocabulary.
struct TokenizerFacts {
  ModelDirectory directory;
  TokenizerSide side = TokenizerSide::source;
  VocabularyFiles vocabulary = VocabularyFiles::vocab_txt;
  std::string_view vocabulary_file;  ///< the first of these
  bool bare = false;  ///< a tokenizer.json that no model and no configuration is with: it says all

  // tokenizer_config.json, then config.json, special_tokens_map.json and added_tokens.json
  const TokenizerClass* named = nullptr;  ///< tokenizer_class; nullptr: not said
  const TokenizerClass* of_type =
      nullptr;  ///< the class of the model's type, where no class is named
  TokenizerFlags flags;
  BySpecial<std::optional<std::string>> said;  ///< names of special tokens
  std::vector<WantedToken> wanted;             ///< in the order in which they get ids
  bool lists_tokens = false;  ///< added_tokens_decoder, before which no other file counts
  bool text_cleanup = false;
  bool truncates_left = false;
  std::optional<size_t> model_max_length;
  std::string source_language, target_language;  ///< src_lang, tgt_lang; "": not said
  std::string language_codes;                    ///< which list of them M2M100 has; "": not said

  bool alone() const { return side == TokenizerSide::alone; }
  std::string path(std::string_view name) const { return directory.file(name); }
  /// The class that is named, else that of the model's type if it builds its tokenizer of the
  /// vocabulary, else BERT's.
  const TokenizerClass& row() const;
  /// The names of a class, where no file says another.
  SpecialNames names(const BySpecial<std::string_view>& of_class) const;
};

/// Throws Error (no_input, data, unsupported) naming the file.
TokenizerFacts read_tokenizer_facts(const ModelDirectory& directory, TokenizerSide side);

}  // namespace bert
