#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/charsmap.h"
#include "text/normal_text.h"
#include "tokenizer/files/sentencepiece_file.h"
#include "tokenizer/models/piece_trie.h"
#include "tokenizer/models/subword_model.h"

namespace bert {

/// A model of sentencepiece as the library of that name runs it, of all its types: Unigram (Kudo
/// 2018), BPE (Sennrich et al. 2016), words, characters. Its pieces are those of sentencepiece 0.2
/// to the last bit of a sum of scores: sums are floats and go through the whole text, while those
/// of tokenizers (class Unigram) are doubles and go through a word.
///
/// Thread rule: const after construction.
class SentencePiece {
 public:
  static constexpr std::string_view kBlank = "\xE2\x96\x81";  ///< U+2581 stands for a blank

  /// Throws Error(data, unsupported), which names the file `where`, where sentencepiece refuses a
  /// model: not just one unknown piece, a piece that stands twice or is empty, byte pieces that are
  /// not 256 or without byte_fallback; and scores that are not finite, pieces that are not UTF-8.
  SentencePiece(SentencePieceFile file, const std::string& where);

  /// The text of which pieces are taken: characters replaced, runs of blanks made one, blanks
  /// marked, one put before the text or behind it, as the model says. `in` and `out` are two
  /// objects. A mark has no bytes of its own: it stands where the text after it begins.
  void normalize(const NormalText& in, NormalText& out) const;
  /// Appends the pieces of a normalised text, with the file's ids. Unknown neighbours are one
  /// piece; with byte_fallback a piece per byte in their place.
  void split(std::string_view text, std::vector<Subword>& out) const;
  /// The text that pieces stand for, by their spelling.
  std::string decode(std::span<const std::string_view> pieces) const;

  size_t size() const { return file_.pieces.size(); }
  std::string_view piece(int32_t id) const { return file_.pieces[static_cast<size_t>(id)].text; }
  int32_t unk_id() const { return unk_id_; }

 private:
  using Type = SentencePieceFile::Type;
  Type type(int32_t id) const { return file_.pieces[static_cast<size_t>(id)].type; }
  float score(int32_t id, size_t bytes) const;
  int32_t text_id(std::string_view piece) const;
  int32_t id_of(std::string_view piece) const;
  size_t user_defined(std::string_view text, size_t i) const;
  size_t symbol_end(std::string_view text, size_t i) const;
  std::string_view replacement(std::string_view text, size_t i, size_t& length) const;

  void check(const std::string& where);
  void split_unigram(std::string_view text, std::vector<Subword>& out) const;
  void split_bpe(std::string_view text, std::vector<Subword>& out) const;
  void split_words(std::string_view text, std::vector<Subword>& out) const;
  void split_characters(std::string_view text, std::vector<Subword>& out) const;
  void close_unknown(std::string_view text, size_t first, std::vector<Subword>& out) const;
  std::string decode_piece(std::string_view piece, int32_t id, bool at_start) const;

  SentencePieceFile file_;
  std::unordered_map<std::string_view, int32_t> reserved_;  ///< control, unknown, bytes
  PieceTrie pieces_;                                        ///< all others
  PieceTrie user_defined_;
  bool has_user_defined_ = false;
  std::unique_ptr<const Charsmap> charsmap_;
  int32_t unk_id_ = -1;
  std::array<int32_t, 256> byte_ids_{};
  float least_score_ = 0;  ///< scores of normal pieces
  float most_score_ = 0;
};

}  // namespace bert
