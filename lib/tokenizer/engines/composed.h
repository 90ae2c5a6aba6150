#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/engine.h"
#include "tokenizer/engines/word_cache.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/subword_model.h"
#include "tokenizer/parts/added_tokens.h"
#include "tokenizer/parts/pre_tokenizer.h"
#include "tokenizer/parts/text_normalizer.h"
#include "tokenizer/piece.h"
#include "tokenizer/vocab.h"

namespace bert {

/// A tokenizer that is composed of parts: normalizer, pre-tokenizer, model. It works on the text
/// cut before blanks where the parts allow it, and then memory does not grow with the text; what
/// was between two cuts is looked up in a cache. Words of byte-level vocabularies are cut from the
/// text and looked up as they stand, without the other steps.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class Composed final : public Engine {
 public:
  struct Scratch final : Engine::Scratch {
    explicit Scratch(const Composed& pipeline) : model(pipeline.model_->make_scratch()) {}

    WordCache<16, 16> seen;
    NormalText text;
    WordList list;
    TextNormalizer::Scratch normalizer;
    PreTokenizer::Scratch pre_tokenizer;
    std::unique_ptr<SubwordModel::Scratch> model;
    std::vector<Subword> subwords;
    bool may_flush = true;  ///< what is being split is not for the cache
  };

  /// Borrows the vocabulary. Throws Error(data) if the model's tables and the vocabulary differ.
  Composed(const TokenizerParts& parts, const Vocab& vocab, int32_t unk_id);

  std::unique_ptr<Engine::Scratch> make_scratch() const override;
  void run(std::string_view text, size_t begin, size_t end, bool literal, Engine::Scratch& scratch,
           PieceBuffer& out) const override;
  std::string normalize_token(std::string_view token) const override {
    return normalizer_.run(token);
  }
  void set_added(const AddedTokenMatcher* added) override;

 private:
  /// A part of a text between two places where it is cut.
  struct Part {
    size_t begin;
    size_t end;
    bool first;  ///< begins what run() was given
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
  WordPattern words_ = WordPattern::gpt2;
  bool prefix_blank_ = false;  ///< add_prefix_space of ByteLevel
};

}  // namespace bert
