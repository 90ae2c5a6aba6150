#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/input_kind.h"

namespace bert {

struct TrainVocabOptions {
  std::vector<std::string> files;
  Wanted wanted = Wanted::text;  ///< other input is refused
  size_t vocab_size = 30522;     ///< special tokens included
  uint64_t min_frequency = 2;    ///< a piece must occur as often
  size_t limit_alphabet = 1000;  ///< characters; words with rarer ones are left out
  bool cased = false;            ///< keep case and accents
  std::function<void(size_t pieces)> progress;
  std::function<void(const std::string&)> on_notice;
};

/// Learns a WordPiece vocabulary: words as BERT's tokenizer cuts them, their characters to begin
/// with, and the most frequent neighbours joined, again and again (as tokenizers' trainer of BERT
/// vocabularies does). Tokens in the order of their ids, [PAD] [UNK] [CLS] [SEP] [MASK] first.
/// Throws Error(data) if there are no words.
BERT_API std::vector<std::string> train_vocab(const TrainVocabOptions& options);

}  // namespace bert
