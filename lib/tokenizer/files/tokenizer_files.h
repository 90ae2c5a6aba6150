#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tokenizer/engines/wordpiece.h"
#include "tokenizer/files/tokenizer_facts.h"
#include "tokenizer/frame.h"
#include "tokenizer/models/sentencepiece.h"
#include "tokenizer/parts/added_tokens.h"
#include "tokenizer/parts/tokenizer_parts.h"
#include "tokenizer/vocab.h"

namespace bert {

/// What an engine is made from, beside the vocabulary:
///   WordPieceOptions   BERT's WordPiece
///   TokenizerParts     a composition (Composed)
///   SentencePiece      its pieces have the ids of the vocabulary (NamedPieces)
///   Dictionary         the words are those of the vocabulary (DictionaryWords)
///   OnlyAddedTokens    the vocabulary is added tokens, the rest is unknown (UnknownWords)
struct Dictionary {};
struct OnlyAddedTokens {};
using EngineParts = std::variant<WordPieceOptions, TokenizerParts,
                                 std::shared_ptr<const SentencePiece>, Dictionary, OnlyAddedTokens>;

/// A tokenizer as its files describe it.
struct TokenizerFiles {
  Vocab vocab{"##", 0};
  EngineParts engine;
  std::vector<DecoderPart> decoders;
  bool has_decoder = true;  ///< without one decode() puts blanks between the tokens
  std::vector<AddedToken>
      added_tokens;  ///< with their ids, in the order in which they are looked for
  SpecialNames names;
  int32_t unk_id = -1;
  Frames frames;  ///< without the token of a language
  Languages languages;
  bool trim_offsets = false;      ///< the flag of RobertaProcessing or ByteLevel
  bool add_prefix_space = false;  ///< their flag; matters to trim_offsets alone
  std::optional<size_t> model_max_length;
  bool truncates_left = false;  ///< truncation_side
  bool lowercase = false;
  bool text_cleanup = false;  ///< clean_up_tokenization_spaces: of the whole text once more
  std::string case_fault;     ///< how lower-casing contradicts the vocabulary; a warning too
  std::vector<std::string> warnings;

  const TokenizerParts* parts() const { return std::get_if<TokenizerParts>(&engine); }
};

/// Reads source.spm and vocab.json, else tokenizer.json, else vocab.json and merges.txt, else
/// vocab.txt, else a model of sentencepiece; with tokenizer_config.json, special_tokens_map.json
/// and added_tokens.json. Throws Error (no_input, data, unsupported) naming the file.
TokenizerFiles read_tokenizer_files(const ModelDirectory& directory, TokenizerSide side);

}  // namespace bert
