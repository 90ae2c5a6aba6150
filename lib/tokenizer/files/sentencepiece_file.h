#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bert {

/// What a model file of sentencepiece says (its ModelProto, a protocol buffer): spiece.model,
/// sentencepiece.bpe.model, spm.model.
struct SentencePieceFile {
  enum class Type { normal = 1, unknown, control, user_defined, unused, byte };
  enum class Model { unigram = 1, bpe, word, character };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };

  std::vector<Piece> pieces;  ///< by id
  Model model = Model::unigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  int32_t unk_id = 0;
  int32_t bos_id = 1;  ///< -1: none; so are the next two
  int32_t eos_id = 2;
  int32_t pad_id = -1;
  std::string unk_piece = "<unk>";
  std::string bos_piece = "<s>";
  std::string eos_piece = "</s>";
  std::string pad_piece = "<pad>";
  std::string unk_surface = " \xE2\x81\x87 ";  ///< what an unknown piece is written as

  std::string charsmap;  ///< bytes for Charsmap; "": characters stay as they are
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool has_denormalizer = false;  ///< characters are replaced in decoded text
};

/// Throws Error (no_input, data) naming the file.
SentencePieceFile read_sentencepiece_file(const std::string& path);

/// The same from the file's bytes; messages name `where`.
SentencePieceFile parse_sentencepiece(std::string_view bytes, std::string_view where);

/// The bytes of a file that reads as `file`. What decoded text is changed by is not written.
std::string sentencepiece_bytes(const SentencePieceFile& file);

}  // namespace bert
