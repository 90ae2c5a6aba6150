#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/frame.h"
#include "tokenizer/vocab.h"

namespace bert {

/// What a tokenizer.json says, where it is a WordPiece as in BERT.
struct TokenizerJson {
  struct Added {
    AddedToken token;
    int64_t id;
    std::string where;  ///< for messages
  };

  Vocab vocab{"##", 0};  ///< closed
  size_t max_input_chars_per_word = 100;
  std::optional<std::string> unk_token;
  std::optional<Frames> frames;  ///< of the post-processor, ids as it says; nullopt: there is none
  bool of_roberta = false;       ///< the post-processor is RobertaProcessing
  bool trim_offsets = false;     ///< of RobertaProcessing, as is the next
  bool add_prefix_space = false;
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool lowercase = true;
  std::optional<bool> strip_accents;  ///< nullopt: as lowercase
  bool decoder_cleanup = true;
  std::vector<Added> added_tokens;
};

/// Throws Error (no_input, data) naming the file and what in it is wrong or not supported.
TokenizerJson read_tokenizer_json(const std::string& path);

/// A token that is written as a string or as an AddedToken object.
AddedToken read_added_token(Json value, bool special);

/// Longest word, in characters, that a vocabulary may be asked to split.
constexpr size_t kMostCharsPerWord = 100000;

}  // namespace bert
