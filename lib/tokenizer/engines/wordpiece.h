#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy_zeros.h"
#include "text/normalizer.h"
#include "tokenizer/engine.h"
#include "tokenizer/engines/word_cache.h"
#include "tokenizer/piece.h"
#include "tokenizer/vocab.h"

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
class WordPiece final : public Engine {
 public:
  struct Scratch final : Engine::Scratch {
    explicit Scratch(const WordPiece& model);

    WordCache<16, 14> seen;
    Normalizer normalizer;
    std::vector<NormalizedChar> chars_of_text;  ///< if there are added tokens to look for
    std::string word;                           ///< the word that is being collected, normalised
    std::vector<uint32_t>
        begin_at;  ///< [word.size()] where the character with this byte begins in the text
    std::vector<uint32_t> end_at;  ///< [word.size() + 1] where the character before this byte ends
    std::vector<uint64_t> prefix_hashes;  ///< [word.size() + 1]
    size_t chars = 0;                     ///< characters of the word, also those no longer stored
    uint32_t word_begin = 0;
    uint32_t word_end = 0;
  };

  WordPiece(const Vocab& vocab, const WordPieceOptions& options);

  std::unique_ptr<Engine::Scratch> make_scratch() const override;
  void run(std::string_view text, size_t begin, size_t end, bool literal, Engine::Scratch& scratch,
           PieceBuffer& out) const override;
  std::string normalize_token(std::string_view token) const override;
  void set_added(const AddedTokenMatcher* added) override;

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
  void scan(std::string_view text, size_t begin, size_t end, Scratch& scratch,
            PieceBuffer& out) const;
  void split_around_added(const std::vector<NormalizedChar>& chars, bool literal, Scratch& scratch,
                          PieceBuffer& out) const;
  size_t chunk_end(std::string_view text, size_t i, size_t end, bool& ascii) const;
  void ascii_word(std::string_view text, size_t begin, size_t length, Scratch& scratch,
                  PieceBuffer& out) const;
  void chunk(std::string_view text, size_t begin, size_t length, Scratch& scratch,
             PieceBuffer& out) const;
  void split_ascii(std::string_view word, uint32_t base, Scratch& scratch, PieceBuffer& out) const;
  void normalize(std::string_view chunk, uint32_t base, Scratch& scratch, PieceBuffer& out) const;
  void feed(const NormalizedChar& c, Scratch& scratch, PieceBuffer& out) const;
  void finish_word(Scratch& scratch, PieceBuffer& out) const;
  int32_t single_id(char32_t c) const;

  const Vocab& vocab_;
  WordPieceOptions options_;
  const AddedTokenMatcher* added_ = nullptr;  ///< nullptr: none to look for
  std::array<Byte, 256> bytes_;
  std::array<int32_t, 128> ascii_ids_;  ///< ids of tokens of one character
  unsigned blank_mask_;                 ///< CharClass bits of a blank
  unsigned single_mask_;                ///< bits of a character that is a word of its own ...
  unsigned changed_mask_;               ///< ... unless normalising changes it
  LazyZeros<int32_t> single_ids_;       ///< [0x10000] id + 1 of tokens of one character; 0: unknown
};

}  // namespace bert
