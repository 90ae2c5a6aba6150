#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "tokenizer/frame.h"
#include "tokenizer/parts/added_tokens.h"
#include "tokenizer/parts/tokenizer_parts.h"
#include "tokenizer/vocab.h"

namespace bert {

/// What a tokenizer.json says.
struct TokenizerJson {
  struct Added {
    AddedToken token;
    int64_t id;
    std::string where;  ///< for messages
  };

  Vocab vocab{"##", 0};  ///< closed
  TokenizerParts parts;
  /// Whether the parts are those of BERT: its normalizer, its pre-tokenizer and WordPiece.
  bool of_bert = false;
  std::optional<Frames> frames;  ///< the post-processor's, ids as it says; nullopt: there is none
  bool of_roberta = false;       ///< the post-processor is RobertaProcessing
  bool trim_offsets = false;     ///< field of RobertaProcessing or ByteLevel, as is the next
  bool add_prefix_space = false;
  std::optional<size_t> truncation;  ///< tokens; transformers sets its own limit instead
  bool truncates_left = false;       ///< the beginning of a text is what is dropped
  std::vector<Added> added_tokens;
};

/// Throws Error (no_input, data, unsupported) naming the file and what in it is wrong or not
/// supported. Not `framed`: the special tokens around a text are not wanted, and not read.
TokenizerJson read_tokenizer_json(const std::string& path, bool framed = true);

/// The member `vocab` of a model, or a vocab.json, as a copy of `empty` with its tokens, closed.
Vocab read_vocabulary(Json vocab, const Vocab& empty);
constexpr size_t kManyKeys = 1000;  ///< a vocabulary: it looks for tokens that stand twice itself

/// A token that is written as a string or as an AddedToken object.
AddedToken read_added_token(Json value, bool special);

/// Longest word, in characters, that a vocabulary may be asked to split.
constexpr size_t kMostCharsPerWord = 100000;

}  // namespace bert
