#pragma once

#include <algorithm>
#include <cstdint>

#include "tokenizer/models/subword_model.h"
#include "tokenizer/vocab.h"

namespace bert {

/// WordPiece's algorithm: the longest piece that the word begins with, again and again. Calls
/// use(id, begin, end) for each piece, bytes of the word. False: some rest begins with no piece,
/// and the whole word is unknown. `prefix_hashes` is a buffer.
template <typename Use>
bool longest_first(const Vocab& vocab, std::string_view word, std::vector<uint64_t>& prefix_hashes,
                   Use use) {
  prefix_hashes.resize(std::max(prefix_hashes.size(), word.size() + 1));
  prefix_hashes[0] = 0;
  for (size_t k = 0; k < word.size(); ++k) {
    prefix_hashes[k + 1] = hash_append(prefix_hashes[k], word[k]);
  }
  for (size_t begin = 0, end = 0; begin < word.size(); begin = end) {
    const int32_t id = vocab.longest_match(word, prefix_hashes.data(), begin, end);
    if (id < 0) return false;
    use(id, begin, end);
  }
  return true;
}

/// WordPiece where the words come from another normalizer or pre-tokenizer than BERT's. The usual
/// composition is WordPiece (wordpiece.h), in one pass.
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
