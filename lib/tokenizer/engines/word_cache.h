#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/lazy_zeros.h"
#include "tokenizer/engine.h"
#include "tokenizer/piece.h"

namespace bert {

/// Up to `N` bytes of text as whole words of a register, with zeros behind them.
template <size_t N>
struct WordKey {
  std::array<uint64_t, N / 8> part{};

  bool operator==(const WordKey& other) const {
    uint64_t difference = 0;
    for (size_t i = 0; i < N / 8; ++i) difference |= part[i] ^ other.part[i];
    return difference == 0;
  }

  /// text[0..length), length <= N; `readable` bytes from `text` on may be read.
  static WordKey read(const char* text, size_t length, size_t readable) {
    WordKey key;
    if (readable < N) {
      std::memcpy(key.part.data(), text, length);
      return key;
    }
    WordKey mask;
    std::memcpy(key.part.data(), text, N);
    std::memcpy(mask.part.data(), kMasks[length].data(), N);
    for (size_t i = 0; i < N / 8; ++i) key.part[i] &= mask.part[i];
    return key;
  }

  uint64_t hash() const {
    constexpr uint64_t kFactors[] = {0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u, 0xA0761D6478BD642Fu};
    uint64_t hash = 0;
    for (size_t i = 0; i < N / 8; ++i) hash += (part[i] ^ (part[i] >> 32)) * kFactors[i];
    return hash;
  }

 private:
  /// For each length, 0xFF where a byte belongs to the word.
  static constexpr auto kMasks = [] {
    std::array<std::array<unsigned char, N>, N + 1> masks{};
    for (size_t n = 0; n <= N; ++n) {
      for (size_t b = 0; b < n; ++b) masks[n][b] = 0xFF;
    }
    return masks;
  }();
};

/// The pieces of a word of ASCII letters and digits, end to end. A key of zeros is an empty entry.
struct alignas(32) AsciiWord {
  static constexpr size_t kLongest = 16;
  static constexpr size_t kMostPieces = 3;
  using Key = WordKey<kLongest>;

  Key key;
  int32_t ids[kMostPieces];
  uint8_t end[kMostPieces];  ///< relative to the word; the first begins at 0
  uint8_t pieces;

  /// Notes the pieces of the word of this key, which begins at `base`. Those that stand end to end
  /// can be told by where they end.
  void remember(const Key& word_key, uint32_t base, std::span<const Piece> found) {
    if (found.size() > kMostPieces) return;
    *this = {word_key, {}, {}, static_cast<uint8_t>(found.size())};
    for (size_t k = 0; k < found.size(); ++k) {
      ids[k] = found[k].id;
      end[k] = static_cast<uint8_t>(found[k].offset.end - base);
    }
  }
  /// Writes them for the same word at `base`. All three places are written, whatever their number:
  /// no branch to guess.
  void recall(uint32_t base, int32_t& next_word, PieceBuffer& out) const {
    Piece* to = out.room(kMostPieces);
    const int32_t word = next_word++;
    to[0] = {ids[0], {base, base + end[0]}, word};
    to[1] = {ids[1], {base + end[0], base + end[1]}, word};
    to[2] = {ids[2], {base + end[1], base + end[2]}, word};
    out.added(pieces);
  }
};
static_assert(sizeof(AsciiWord) == 32);

/// The pieces of any text between two characters at which it may be cut.
struct alignas(64) ShortText {
  static constexpr size_t kLongest = 24;
  static constexpr size_t kMostPieces = 5;
  using Key = WordKey<kLongest>;

  Key key;
  int32_t ids[kMostPieces];
  uint8_t begin[kMostPieces];  ///< relative to the chunk
  uint8_t end[kMostPieces];
  uint8_t word[kMostPieces];  ///< relative to the chunk's first word
  uint8_t length;             ///< 0: an empty entry
  uint8_t pieces;
  uint8_t words;

  /// Notes what the text of this key and length, which begins at `base`, became: pieces whose first
  /// word has the number `first_word`.
  void remember(const Key& text_key, size_t bytes, uint32_t base, int32_t first_word,
                int32_t next_word, std::span<const Piece> found) {
    if (found.size() > kMostPieces || next_word - first_word > UINT8_MAX) return;
    key = text_key;
    length = static_cast<uint8_t>(bytes);
    pieces = static_cast<uint8_t>(found.size());
    words = static_cast<uint8_t>(next_word - first_word);
    for (size_t k = 0; k < found.size(); ++k) {
      ids[k] = found[k].id;
      begin[k] = static_cast<uint8_t>(found[k].offset.begin - base);
      end[k] = static_cast<uint8_t>(found[k].offset.end - base);
      word[k] = static_cast<uint8_t>(found[k].word - first_word);
    }
  }
  /// Writes it for the same text at `base`.
  void recall(uint32_t base, int32_t& next_word, PieceBuffer& out) const {
    Piece* to = out.room(kMostPieces);
    for (size_t k = 0; k < pieces; ++k) {
      to[k] = {ids[k], {base + begin[k], base + end[k]}, next_word + word[k]};
    }
    out.added(pieces);
    next_word += words;
  }
};
static_assert(sizeof(ShortText) == 64);

/// The words and chunks that were seen lately, by their bytes as they stand in the text: a hit
/// needs no normalising. Each key has one place. One thread's; results never depend on what it
/// holds.
template <unsigned kWordBits, unsigned kChunkBits>
class WordCache {
 public:
  /// Writes the pieces of text[begin, begin + length), one word of ASCII letters and digits with at
  /// most AsciiWord::kLongest bytes. split() finds them if they are not here.
  template <typename Split>
  void word(std::string_view text, size_t begin, size_t length, Engine::Scratch& counts,
            PieceBuffer& out, Split split) {
    const auto base = static_cast<uint32_t>(begin);
    const auto key = AsciiWord::Key::read(text.data() + begin, length, text.size() - begin);
    AsciiWord& entry = place<kWordBits>(words_, key);
    if (entry.key != key) {
      const size_t mark = out.size();
      split();
      entry.remember(key, base, out.since(mark));
      return;
    }
    entry.recall(base, counts.next_word, out);
  }
  /// The same of any text of at most ShortText::kLongest bytes. What split() counts as replaced is
  /// not remembered, so that it is counted each time.
  template <typename Split>
  void chunk(std::string_view text, size_t begin, size_t length, Engine::Scratch& counts,
             PieceBuffer& out, Split split) {
    const auto base = static_cast<uint32_t>(begin);
    const auto key = ShortText::Key::read(text.data() + begin, length, text.size() - begin);
    ShortText& entry = place<kChunkBits>(chunks_, key);
    if (entry.key != key || entry.length != length) {
      const size_t mark = out.size(), replaced = counts.replaced;
      const int32_t word = counts.next_word;
      split();
      if (counts.replaced > replaced) return;
      entry.remember(key, length, base, word, counts.next_word, out.since(mark));
      return;
    }
    entry.recall(base, counts.next_word, out);
  }

 private:
  template <unsigned kBits, typename Entry>
  static Entry& place(LazyZeros<Entry>& entries, const typename Entry::Key& key) {
    if (!entries) entries = LazyZeros<Entry>(size_t{1} << kBits);
    return entries[key.hash() >> (64 - kBits)];
  }

  LazyZeros<AsciiWord> words_;
  LazyZeros<ShortText> chunks_;
};

}  // namespace bert
