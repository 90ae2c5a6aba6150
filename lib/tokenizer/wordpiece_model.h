#pragma once

#include <cstdint>

#include "tokenizer/subword_model.h"
#include "tokenizer/vocab.h"

namespace bert {

/// WordPiece where the words come from another normalizer or pre-tokenizer than BERT's: the longest
/// piece first, again and again; a word without pieces is one unknown token. The usual composition
/// is WordPiece (wordpiece.h), in one pass.
class WordPieceModel final : public SubwordModel {
 public:
  /// Borrows the vocabulary.
  WordPieceModel(const Vocab& vocab, size_t max_chars_per_word, int32_t unk_id)
      : vocab_(vocab), max_chars_(max_chars_per_word), unk_id_(unk_id) {}

  std::unique_ptr<SubwordModel::Scratch> make_scratch() const override;
  void split(std::string_view word, SubwordModel::Scratch& scratch,
             std::vector<Subword>& out) const override;

 private:
  struct Scratch final : SubwordModel::Scratch {
    std::vector<uint64_t> prefix_hashes;
  };

  const Vocab& vocab_;
  size_t max_chars_;
  int32_t unk_id_;
};

}  // namespace bert
