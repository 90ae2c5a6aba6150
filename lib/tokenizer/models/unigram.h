#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/models/piece_trie.h"
#include "tokenizer/models/subword_model.h"
#include "tokenizer/vocab.h"

namespace bert {

struct UnigramOptions {
  std::vector<double> scores;     ///< [vocab.pieces()] log probability of each piece
  std::optional<int32_t> unk_id;  ///< nullopt: text with an unknown character is an error
  bool byte_fallback = false;     ///< unknown text becomes the pieces "<0x00>" .. "<0xFF>"
  size_t trie_after = 8192;       ///< bytes of words that are split without the trie
};

/// The Unigram language model (Kudo 2018), equal to that of tokenizers: of all ways to write a word
/// in pieces the one with the largest sum of scores, in doubles; of equal sums the one that was
/// found first, by begin and then by length. A character that is no piece costs 10 more than the
/// worst piece; neighbours of this kind are one unknown piece.
///
/// Time is linear in the word times the pieces that begin at a character. Memory follows the
/// longest part of a word that pieces hold together, not the word.
///
/// A trie of all pieces takes longer to build than a few lines take without it. So the first words
/// look their pieces up in the vocabulary, each substring that may be one. The pieces are the same.
///
/// Thread rule: const after construction.
class Unigram final : public SubwordModel {
 public:
  /// Borrows the vocabulary, closed, whose pieces are those of the model; of equal texts the last
  /// one counts. Throws Error(data), which names the file `where`.
  Unigram(const Vocab& vocab, UnigramOptions options, std::string_view where);

  std::unique_ptr<Scratch> make_scratch() const override;
  /// The pieces of bytes that stand for one unknown text have the range of all of it. Throws
  /// Error(data) for an unknown character if there is no unk_id.
  void split(std::string_view word, Scratch& scratch, std::vector<Subword>& out) const override;

 private:
  /// A character of the word, and the best way to the place before it.
  struct Place {
    double score = 0;
    uint32_t from = 0;  ///< where the last piece of this way begins; kNowhere: no way yet
    int32_t id = 0;     ///< id of that piece
    char32_t code_point = 0;
    uint32_t byte = 0;  ///< place in the word where the character begins
  };
  static constexpr size_t kWalks = 16;  ///< places at which pieces are looked for together
  static constexpr size_t kSteps = 16;
  /// The way through the trie from one place.
  struct Walk {
    const PieceTrie::Edge* edge = nullptr;  ///< the last
    uint64_t key = 0;                       ///< key of the next edge
    size_t steps = 0;
    std::array<int32_t, kSteps> values{};  ///< values of the edges: pieces, -1: none
  };
  struct Buffers;
  static constexpr uint32_t kNowhere = UINT32_MAX;

  static bool read_place(std::string_view word, Buffers& b, size_t i);
  const PieceTrie* trie_for(std::string_view word) const;
  int32_t piece(std::string_view text) const;
  bool reaches(std::string_view word, const Buffers& b, size_t begin, size_t end) const;
  int32_t piece(std::string_view word, const Buffers& b, size_t begin, size_t end) const;
  void look_up(std::string_view word, Buffers& b, size_t begin, size_t n) const;
  void walk(std::string_view word, Buffers& b, size_t begin, size_t n) const;
  size_t advance(std::string_view word, Buffers& b, size_t i, const Walk& walk) const;
  void emit(std::string_view word, Buffers& b, size_t last, std::vector<Subword>& out) const;
  void close_unknown(std::string_view word, Buffers& b, std::vector<Subword>& out) const;

  const Vocab& vocab_;
  std::vector<double> scores_;
  std::array<size_t, 256> longest_{};  ///< bytes of the longest piece with this first byte
  const size_t trie_after_;
  mutable std::atomic<size_t> split_{0};  ///< bytes of words so far, until there is the trie
  mutable std::once_flag once_;
  mutable std::unique_ptr<const PieceTrie> made_;
  mutable std::atomic<const PieceTrie*> trie_{nullptr};
  std::optional<int32_t> unk_id_;
  double unk_score_ = 0;
  bool byte_fallback_ = false;
  std::array<int32_t, 256> byte_ids_{};  ///< -1: there is no such piece
};

}  // namespace bert
