#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heads/token_classification.h"
#include "metrics/entities.h"
#include "predict/aggregation.h"
#include "predict/batcher.h"
#include "predict/sequences.h"
#include "predict/worded_text.h"
#include "tokenizer/windows.h"

namespace bert {

/// A text whose tokens are labelled. Its memory is kept from text to text.
struct LabelledText : WordedText {
  // The members that TokenLabelPredictor sets:
  Encoding tokens = {};  ///< tokens of the text, without special tokens
  std::vector<TokenWindow> windows = {};
  size_t first_sequence = 0;
  std::vector<float> scores = {};  ///< [tokens, labels]; row `first` of a word is its own
  std::vector<LabelledWord> labels =
      {};  ///< labels of all given words; else of its words or tokens
};

/// Labels the tokens of texts, and finds the entities that they name, as transformers'
/// token-classification pipeline does. A long text is read in windows; each token counts in the one
/// where it has the most context.
///
/// Thread rule: const; each thread has a TokenScorer and a Batcher.
class BERT_API TokenLabelPredictor {
 public:
  /// Opens the head of the model. Borrows both. Throws Error as TokenClassifier::open.
  TokenLabelPredictor(const Tokenizer& tokenizer, const Model& model)
      : tokenizer_(tokenizer),
        model_(model),
        head_(TokenClassifier::open(model)),
        scheme_(head_.labels()) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const std::vector<std::string>& labels() const { return head_.labels(); }
  const TokenClassifier& head() const { return head_; }

  /// Reads a text, or the words of one that has them, each by itself as is_split_into_words of
  /// transformers. Appends its windows to `to`, as those of text number `number`.
  Reading read(LabelledText& text, size_t number, TextReader& reader, Sequences& to) const;
  /// Sets the scores of texts 0 .. texts.size() - 1, whose windows the sequences are.
  void predict(const Sequences& sequences, std::span<LabelledText> texts, TokenScorer& scorer,
               Batcher& batcher) const;
  /// Calls use(first, batch, logits) for each batch; logits [T, labels].
  template <typename Use>
  void for_each_batch(std::span<const Encoding> sequences, TokenScorer& scorer, Batcher& batcher,
                      Use use) const {
    batcher.run(
        model_, sequences,
        [&](size_t first, const PackedBatch& batch, Matrix hidden) {
          use(first, batch, scorer.logits(batch, hidden, batcher.workspace()));
        },
        scorer.options());
  }

  /// Sets the text's labels. False: a score is no number, and there are none.
  bool choose(Aggregation aggregation, LabelledText& text) const;
  /// "O" for a word without a token.
  std::string_view tag(const LabelledWord& word) const;
  /// The bytes of a labelled word.
  static Offset bytes(const LabelledText& text, Aggregation aggregation, size_t word);
  /// The entities with at least this score.
  std::vector<Entity> entities(const LabelledText& text, Aggregation aggregation,
                               double threshold) const;

 private:
  void encode_words(LabelledText& text, const EncodeOptions& encode,
                    Tokenizer::Scratch& scratch) const;

  const Tokenizer& tokenizer_;
  const Model& model_;
  const TokenClassifier head_;
  const TagScheme scheme_;
};

}  // namespace bert
