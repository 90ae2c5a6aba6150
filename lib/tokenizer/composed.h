#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/piece.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/subword_model.h"
#include "tokenizer/text_normalizer.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cache.h"

namespace bert {

/// A tokenizer that is composed of parts: normalizer, pre-tokenizer, model. It works on the text
/// cut before blanks where the parts allow it, and then memory does not grow with the text; what
/// was between two cuts is looked up in a cache. Words of byte-level vocabularies are cut from the
/// text and looked up as they stand, without the other steps.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class Composed {
 public:
  struct Scratch {
    explicit Scratch(const Composed& pipeline) : model(pipeline.model_->make_scratch()) {}

    WordCache<AsciiWord, 16> words;
    WordCache<Chunk, 16> chunks;
    NormalText text;
    WordList list;
    TextNormalizer::Scratch normalizer;
    PreTokenizer::Scratch pre_tokenizer;
    std::unique_ptr<SubwordModel::Scratch> model;
    std::vector<Subword> subwords;
    bool may_flush = true;  ///< what is being split is not for the cache
    int32_t next_word = 0;
    size_t replaced = 0;
  };

  /// Borrows the vocabulary. Throws Error(data) if the model's tables and the vocabulary differ.
  Composed(const TokenizerParts& parts, const Vocab& vocab, int32_t unk_id);

  const TextNormalizer& normalizer() const { return normalizer_; }
  /// Tokens that are looked for in the normalised text. Borrows them; comes before the first run.
  void set_added(const AddedTokenMatcher* added);

  /// Begins a text: words are counted from 0.
  void start(Scratch& scratch) const {
    scratch.next_word = 0;
    scratch.replaced = 0;
  }
  /// The pieces of text[begin, end), a part of `text` that nothing joins to its neighbours.
  void run(std::string_view text, size_t begin, size_t end, bool literal, Scratch& scratch,
           PieceBuffer& out) const;

 private:
  /// A part of a text between two places where it is cut.
  struct Part {
    size_t begin;
    size_t end;
    bool first;  ///< of what run() was given
    bool last;
  };

  bool is_cut(std::string_view text, size_t i) const;
  size_t cut_after(std::string_view text, size_t i, size_t end) const;
  size_t ascii_end(std::string_view text, size_t i, size_t end) const;
  void part(std::string_view text, Part part, bool literal, Scratch& scratch,
            PieceBuffer& out) const;
  void normalized(bool literal, Scratch& scratch, PieceBuffer& out) const;
  void split(size_t begin, size_t end, Scratch& scratch, PieceBuffer& out) const;

  void bytes_with_added(std::string_view text, Part part, bool literal, Scratch& scratch,
                        PieceBuffer& out) const;
  void bytes(std::string_view text, size_t begin, size_t end, Scratch& scratch,
             PieceBuffer& out) const;
  void ascii_word(std::string_view text, size_t begin, size_t length, Scratch& scratch,
                  PieceBuffer& out) const;
  void byte_word(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                 PieceBuffer& out) const;
  void uncached_word(std::string_view text, size_t begin, size_t end, bool blank_before,
                     Scratch& scratch, PieceBuffer& out) const;

  void long_word(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                 PieceBuffer& out) const;

  TextNormalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<SubwordModel> model_;
  const AddedTokenMatcher* added_ = nullptr;
  CutPlaces cut_places_ = CutPlaces::none;
  const Bpe* byte_level_ = nullptr;  ///< the model, if words may be cut from the text as they stand
  bool prefix_blank_ = false;        ///< of ByteLevel
};

}  // namespace bert
