#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy_zeros.h"
#include "text/normalizer.h"
#include "tokenizer/piece.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cache.h"

namespace bert {

struct WordPieceOptions {
  NormalizerOptions normalizer;
  size_t max_input_chars_per_word = 100;  ///< longer words, counted after normalising, are unknown
  int32_t unk_id = 0;
};

/// Normaliser, pre-tokeniser and WordPiece model in one pass over the bytes. Runs of ASCII letters
/// and of text between blanks and punctuation are looked up as they stand in a cache; Chinese
/// characters and punctuation in a table; only the rest is normalised.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class WordPiece {
 public:
  struct Scratch {
    explicit Scratch(const WordPiece& model);

    WordCache<AsciiWord, 16> words;
    WordCache<Chunk, 14> chunks;
    Normalizer normalizer;
    std::string word;  ///< the word that is being collected, normalised
    std::vector<uint32_t>
        begin_at;  ///< [word.size()] where the character with this byte begins in the text
    std::vector<uint32_t> end_at;  ///< [word.size() + 1] where the character before this byte ends
    std::vector<uint64_t> prefix_hashes;  ///< [word.size() + 1]
    size_t chars = 0;                     ///< of the word, also of those no longer stored
    uint32_t word_begin = 0;
    uint32_t word_end = 0;
    int32_t next_word = 0;
    size_t replaced = 0;
  };

  WordPiece(const Vocab& vocab, const WordPieceOptions& options);

  /// Begins a text: words are counted from 0.
  void start(Scratch& scratch) const {
    scratch.next_word = 0;
    scratch.replaced = 0;
  }
  /// The pieces of text[begin, end), a part of `text` that nothing joins to its neighbours.
  void run(std::string_view text, size_t begin, size_t end, Scratch& scratch,
           PieceBuffer& out) const;

  /// Feeds text that is normalised already; finish_word() ends it.
  void feed(const NormalizedChar& c, Scratch& scratch, PieceBuffer& out) const;
  void finish_word(Scratch& scratch, PieceBuffer& out) const;

 private:
  /// What a byte means to the scan.
  enum Byte : uint8_t {
    kBlank,        ///< ends words
    kPunctuation,  ///< ASCII: a word of its own; what is not above it ends a word
    kWord,         ///< an ASCII letter or digit
    kOther,        ///< ASCII that normalising must look at
    kHigh,         ///< a byte of a longer character
  };
  enum class Role { word, blank, single };

  Role role(char32_t c) const;
  size_t chunk_end(std::string_view text, size_t i, size_t end, bool& ascii) const;
  void ascii_word(std::string_view text, size_t begin, size_t length, Scratch& scratch,
                  PieceBuffer& out) const;
  void chunk(std::string_view text, size_t begin, size_t length, Scratch& scratch,
             PieceBuffer& out) const;
  void split_ascii(std::string_view word, uint32_t base, Scratch& scratch, PieceBuffer& out) const;
  void normalize(std::string_view chunk, uint32_t base, Scratch& scratch, PieceBuffer& out) const;
  int32_t single_id(char32_t c) const;

  const Vocab& vocab_;
  WordPieceOptions options_;
  std::array<Byte, 256> bytes_;
  std::array<int32_t, 128> ascii_ids_;  ///< of tokens of one character
  unsigned blank_mask_;                 ///< CharClass bits of a blank
  unsigned single_mask_;                ///< of a character that is a word of its own ...
  unsigned changed_mask_;               ///< ... unless normalising changes it
  LazyZeros<int32_t> single_ids_;       ///< [0x10000] id + 1 of tokens of one character; 0: unknown
};

}  // namespace bert
