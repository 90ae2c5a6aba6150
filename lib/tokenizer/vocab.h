#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/huge_pages.h"
#include "tokenizer/encoding.h"

namespace bert {

/// A polynomial hash of byte strings: that of any substring follows from those of the prefixes.
/// hash(s + b) = hash(s) * kHashFactor + b + 1, hash("") = 0, modulo 2^64.
constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15u;

constexpr uint64_t hash_append(uint64_t hash, char byte) {
  return hash * kHashFactor + static_cast<unsigned char>(byte) + 1;
}

/// The tokens of a WordPiece vocabulary: id -> text, and text -> id by one open-addressing table,
/// built in about 30 ns a token. Immutable once filled; any thread may read.
class Vocab {
 public:
  /// `continuing_prefix`: what stands before a piece that continues a word ("##"). longest_match()
  /// looks for no piece of more than `longest_piece` bytes.
  Vocab(std::string_view continuing_prefix, size_t longest_piece);

  /// Makes room for `tokens` tokens with `bytes` bytes of text in all.
  void reserve(size_t tokens, size_t bytes);
  /// Gives the next id to `token`. An empty text only fills the place of an id.
  void add(std::string_view token);
  /// Builds the index of the pieces so far; find() and longest_match() come after it. Of equal
  /// texts the last id wins, as in the reference. Tokens added from here on have a text and an id
  /// but are no pieces of words.
  void close();

  size_t size() const { return spans_.size(); }  ///< largest id + 1
  size_t pieces() const { return pieces_; }      ///< largest id of a piece + 1
  std::string_view text(int32_t id) const {
    const Span span = spans_[static_cast<size_t>(id)];
    return {text_.data() + span.begin, span.length};
  }
  int32_t find(std::string_view token) const;        ///< -1: none
  size_t duplicates() const { return duplicates_; }  ///< pieces whose text a later one has too
  size_t first_duplicate() const {
    return first_duplicate_;
  }  ///< the first id that took over a text
  /// Appends the texts of `pieces`, a blank after each.
  void append_texts(std::span<const Piece> pieces, std::string& out) const;
  std::string_view continuing_prefix() const { return prefix_; }

  /// The longest piece that begins at word[start]: a whole token if start is 0, else one that
  /// continues a word, compared without its prefix. `prefix_hashes` [word.size() + 1] are those of
  /// the word's prefixes. Returns the id and sets `end`; -1 if there is none.
  int32_t longest_match(std::string_view word, const uint64_t* prefix_hashes, size_t start,
                        size_t& end) const;

 private:
  struct Span {
    uint32_t begin;
    uint32_t length;
  };
  struct Slot {
    uint32_t tag;  ///< upper half of the mixed hash
    int32_t id;    ///< -1: empty
    Span span;     ///< text of the id, so that a look-up touches the slot and the text only
  };
  /// Lengths in bytes that the tokens with one first byte have: bit min(length, 63).
  using Lengths = uint64_t[256];

  static uint64_t mix(uint64_t hash) {
    hash ^= hash >> 32;
    return hash * 0xD6E8FEB86659FD93u;
  }
  template <typename Equal>
  int32_t probe(uint64_t hash, Equal equal) const;
  void build(size_t capacity);
  void insert(uint64_t mixed, int32_t id);
  std::string_view text(Span span) const { return {text_.data() + span.begin, span.length}; }

  std::string prefix_;
  uint64_t prefix_hash_;
  size_t longest_piece_;
  std::string text_;
  std::vector<Span> spans_;
  std::vector<Slot, HugePages<Slot>> slots_;
  unsigned shift_ = 64;  ///< 64 - log2(slots)
  bool closed_ = false;
  size_t pieces_ = 0;
  size_t duplicates_ = 0;
  size_t first_duplicate_ = 0;
  std::vector<uint64_t> powers_{1};  ///< powers of kHashFactor, for lengths up to the longest token
  Lengths initial_lengths_{};
  Lengths continuing_lengths_{};
  size_t longest_initial_ = 0;
  size_t longest_continuing_ = 0;
};

}  // namespace bert
