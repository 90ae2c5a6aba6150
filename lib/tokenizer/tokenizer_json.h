#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/vocab.h"

namespace bert {

/// What a tokenizer.json says, where it is one of BERT.
struct TokenizerJson {
  struct Added {
    AddedToken token;
    int64_t id;
    std::string where;  ///< for messages
  };

  Vocab vocab{"##", 0};  ///< closed
  size_t max_input_chars_per_word = 100;
  std::optional<std::string> unk_token;
  struct FrameToken {
    std::string content;
    std::optional<int64_t> id;
  };
  std::optional<FrameToken> cls, sep;  ///< of the post-processor; nullopt: there is none
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
