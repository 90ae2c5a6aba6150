#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/export.h"
#include "tokenizer/files/sentencepiece_file.h"

namespace bert {

/// What a text is cut into: characters, words between blanks, or pieces of words.
enum class Units { character, word, piece };

struct TrainPiecesOptions {
  Units units = Units::piece;
  size_t vocab_size = 8000;  ///< pieces of the file, <unk>, <s> and </s> included; as many or fewer
  uint64_t min_frequency = 1;  ///< a word or a character must occur as often; a joined piece twice
};

/// Learns a vocabulary of texts as a model of sentencepiece, of its type CHAR, WORD or BPE. Blanks
/// are U+2581; runs of them count as one. All other characters stay as they are: the model has no
/// replacements. A word begins with its blank, so a blank is put before a text, but not where the
/// units are characters: there it would be a token that says nothing.
///
/// The rarest units have no place if there are more than `vocab_size`; texts with them have unknown
/// tokens. Same texts in any order give the same file.
class BERT_API PieceTrainer {
 public:
  explicit PieceTrainer(const TrainPiecesOptions& options) : options_(options) {}

  /// One line of text; invalid UTF-8 is read as U+FFFD.
  void add(std::string_view text);
  /// Throws Error(data) if there are no texts; Error (`vocab_size`) if it is 3 or less.
  SentencePieceFile train() const;

 private:
  using Counts = std::unordered_map<std::string, int64_t>;
  SentencePieceFile with_units(const Counts& units) const;
  SentencePieceFile with_pieces() const;

  TrainPiecesOptions options_;
  Counts words_;  ///< with their blanks; of characters, the texts' parts between blanks
};

}  // namespace bert
