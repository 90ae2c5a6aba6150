#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/models/subword_model.h"
#include "tokenizer/vocab.h"

namespace bert {

struct BpeOptions {
  std::optional<std::string> unk_token;  ///< nullopt: characters without a token vanish
  bool fuse_unk = false;                 ///< neighbours without a token become one unknown token
  bool byte_fallback = false;            ///< "<0xE2>" and so on for a character without a token
  bool ignore_merges = false;            ///< a word that is a token stays whole
  std::string prefix;                    ///< before each character of a word but the first
  std::string suffix;                    ///< behind the last character of a word
};

/// Two tokens that become one. The first pair of a list is joined first.
struct BpeMerge {
  std::string_view left;
  std::string_view right;
};

/// Byte-pair encoding (Sennrich et al. 2016), equal to the BPE of tokenizers: the characters of a
/// word, and again and again the two neighbours joined that come first in the list of merges. A
/// word of n characters takes O(n log n).
class Bpe final : public SubwordModel {
 public:
  /// `where` names the merges in messages. Borrows the vocabulary. Throws Error(data) if a merge
  /// or the unknown token is one that the vocabulary does not have.
  Bpe(const Vocab& vocab, BpeOptions options, std::span<const BpeMerge> merges,
      const std::string& where);

  std::unique_ptr<SubwordModel::Scratch> make_scratch() const override;
  void split(std::string_view word, SubwordModel::Scratch& scratch,
             std::vector<Subword>& out) const override;

  /// Whether the vocabulary has each byte as ByteLevel spells it, and split_bytes() may be used.
  bool has_all_bytes() const { return has_all_bytes_; }
  /// As split(), of a word that ByteLevel has not spelt yet: `begin` and `end` count its bytes.
  void split_bytes(std::string_view word, SubwordModel::Scratch& scratch,
                   std::vector<Subword>& out) const;
  /// Receives the next pieces of a word; false: no more are wanted.
  using Sink = std::function<bool(std::span<const Subword>)>;
  /// Longer words are better split part by part.
  static constexpr size_t kLongWord = 1 << 14;
  /// As split_bytes(), in portions, so that memory does not grow with the word. Throws
  /// Error(unsupported) if the merges of a part depend on bytes far behind it.
  void split_long_bytes(std::string_view word, SubwordModel::Scratch& scratch,
                        const Sink& sink) const;

 private:
  struct Symbol {
    int32_t id;
    uint32_t length;  ///< bytes of the word; 0: joined to the one before
    uint32_t previous;
    uint32_t next;
  };
  struct Scratch final : SubwordModel::Scratch {
    std::vector<Symbol> symbols;
    std::vector<uint64_t> heap;  ///< rank and symbol
    std::string text;
    std::vector<Subword> pieces, kept;  ///< a long word: its last part's, and those before
  };
  struct Merge {
    uint64_t pair = kNoPair;
    uint32_t rank = 0;
    int32_t joined = 0;
  };
  static constexpr uint64_t kNoPair = UINT64_MAX;
  static constexpr uint32_t kNone = UINT32_MAX;

  static uint64_t pair_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  int32_t find(std::string_view token) const;
  void add_merge(const BpeMerge& merge, uint32_t rank, const std::string& where);
  size_t slot(uint64_t pair) const;
  const Merge* merge_of(int32_t left, int32_t right) const;
  bool whole(std::string_view word, size_t length, std::vector<Subword>& out) const;
  void join_bytes(std::string_view bytes, Scratch& scratch, std::vector<Subword>& out) const;
  bool whole_bytes(std::string_view word, Scratch& scratch, std::vector<Subword>& out) const;
  bool stay_apart(std::string_view word, const Subword& left, const Subword& right,
                  Scratch& scratch) const;
  void add_characters(std::string_view word, Scratch& scratch) const;
  bool add_fallback(std::string_view character, Scratch& scratch) const;
  void join(Scratch& scratch, std::vector<Subword>& out) const;
  void join_few(Scratch& scratch) const;
  void join_many(Scratch& scratch) const;

  const Vocab& vocab_;
  BpeOptions options_;
  std::vector<Merge> merges_;  ///< open addressing
  unsigned shift_ = 64;
  std::optional<int32_t> unk_id_;
  std::array<int32_t, 256> byte_ids_{};        ///< ids of "<0x00>" ..; -1: none
  std::array<int32_t, 256> spelt_byte_ids_{};  ///< ids of bytes as ByteLevel spells them; -1: none
  std::array<int32_t, 128> ascii_ids_{};  ///< ids of ASCII characters, without prefix; -1: none
  bool has_all_bytes_ = false;
  size_t longest_ = 0;  ///< bytes of the longest token
};

}  // namespace bert
