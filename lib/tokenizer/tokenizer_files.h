#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "directory/model_directory.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/frame.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/tokenizer_parts.h"
#include "tokenizer/vocab.h"
#include "tokenizer/wordpiece.h"

namespace bert {

/// What the files of a model directory say about its tokenizer.
struct TokenizerFiles {
  Vocab vocab{"##", 0};
  /// What the tokenizer is composed of; without it, it is BERT's (WordPiece), as `wordpiece` says.
  std::optional<TokenizerParts> parts;
  /// Or it is a model of sentencepiece whose pieces have the ids of `vocab` (NamedPieces).
  std::shared_ptr<const SentencePiece> sentencepiece;
  bool dictionary = false;  ///< Or words are those of `vocab` (DictionaryWords).
  WordPieceOptions wordpiece;
  std::vector<DecoderPart> decoders;
  bool has_decoder = true;  ///< without one decode() puts blanks between the tokens
  std::vector<AddedToken>
      added_tokens;  ///< with their ids, in the order in which they are looked for
  std::string unk_token = "[UNK]";
  std::string cls_token = "[CLS]";
  std::string sep_token = "[SEP]";
  std::string pad_token = "[PAD]";
  std::string mask_token = "[MASK]";
  Frames frames;
  bool trim_offsets = false;      ///< of RobertaProcessing or ByteLevel
  bool add_prefix_space = false;  ///< of these; matters to trim_offsets alone
  std::optional<size_t> model_max_length;
  bool truncates_left = false;  ///< truncation_side
  bool lowercase = false;
  bool text_cleanup = false;  ///< clean_up_tokenization_spaces: of the whole text once more
  std::string case_fault;     ///< how lower-casing contradicts the vocabulary; a warning too
  std::vector<std::string> warnings;
};

/// Reads source.spm and vocab.json, else tokenizer.json, else vocab.json and merges.txt, else
/// vocab.txt, then tokenizer_config.json, special_tokens_map.json and added_tokens.json. Throws
/// Error (no_input, data, unsupported) naming the file.
TokenizerFiles read_tokenizer_files(const ModelDirectory& directory);

/// The same with target.spm, and target_vocab.json where there is one.
TokenizerFiles read_target_files(const ModelDirectory& directory);

/// Reads tokenizer.json and no other file; see Tokenizer::open_alone.
TokenizerFiles read_tokenizer_alone(const ModelDirectory& directory);

}  // namespace bert
