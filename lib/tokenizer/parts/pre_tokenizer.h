#pragma once

#include <cstdint>
#include <vector>

#include "text/normal_text.h"
#include "tokenizer/parts/text_normalizer.h"
#include "tokenizer/parts/tokenizer_parts.h"

namespace bert {

/// A text and the words in it, end to end: word k is text[ends[k - 1], ends[k]).
struct WordList {
  NormalText text;
  std::vector<uint32_t> ends;

  void clear() {
    text.clear();
    ends.clear();
  }
};

/// The pre-tokenizer of a tokenizer.json, step by step, equal to tokenizers 0.23. No word is empty.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class PreTokenizer {
 public:
  /// A part of a word, and whether the pattern found it.
  struct Match {
    uint32_t begin;
    uint32_t end;
    bool found;
  };
  struct Scratch {
    WordList other;
    NormalText word;
    std::vector<Match> matches;
  };

  explicit PreTokenizer(std::vector<PreTokenizerPart> parts);

  const std::vector<PreTokenizerPart>& parts() const { return parts_; }
  /// Splits the words of a list further.
  void run(WordList& words, Scratch& scratch) const;
  /// Before which blanks a word always begins, so that a text may be cut there and its parts split
  /// one by one.
  CutPlaces cut_places() const { return cut_places_; }

 private:
  std::vector<PreTokenizerPart> parts_;
  CutPlaces cut_places_ = CutPlaces::none;
};

}  // namespace bert
