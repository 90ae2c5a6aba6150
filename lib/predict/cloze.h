#pragma once

#include <string>
#include <vector>

#include "predict/labels.h"
#include "predict/masks.h"

namespace bert {

/// Zero-shot classification by a masked language model (Schick and Schuetze 2021): behind the text
/// stands a template, "This example is [MASK].", and each label is as likely as its pieces are
/// there.
struct BERT_API ClozePlan {
  std::vector<int32_t> before;               ///< pieces of the template before the label
  std::vector<int32_t> after;                ///< and behind it
  std::vector<std::vector<int32_t>> labels;  ///< [labels]: their pieces
  bool calibrate = false;  ///< weigh each label against its own probability without a text

  /// Whether labels are asked for in this way: the model, opened for text classification, has no
  /// label of entailment, and the directory has a masked-LM head.
  static bool fits(const Model& model);
  /// Throws Error(usage) for a template without its "{}", or for labels and template that leave no
  /// room for a text in max_length.
  static ClozePlan make(const LabelChoice& choice, const Tokenizer& tokenizer, size_t max_length);
  /// Tokens behind the text with the longest label.
  size_t most_tokens() const;
};

/// Weighs the labels of texts. The probability of a label of n pieces is the product over i of
/// P(piece i | the text, the pieces before i in place, masks for i and those behind it), as in
/// mlm-fill --targets; scores are shares of 1.
///
/// One per thread.
class BERT_API ClozePredictor {
 public:
  /// Borrows all.
  ClozePredictor(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
                 const ClozePlan& plan, size_t max_batch_tokens)
      : tokenizer_(tokenizer), plan_(plan), queries_(model, head, max_batch_tokens) {}
  void use_team(Team* team) { queries_.use_team(team); }

  /// How texts are read: the text is cut, not the template.
  static ReadOptions reading(ReadOptions options, const ClozePlan& plan);
  /// The scores of the sequences, each of a text of its own, that `reader` made.
  void predict(std::span<const Encoding> sequences, TextReader& reader, LabelScores& out);

 private:
  /// A row of logits that was asked for.
  struct Step {
    size_t text;
    size_t label;  ///< or kSinglePieces: all labels of one piece
    size_t piece;
  };
  static constexpr size_t kSinglePieces = SIZE_MAX;

  void compute(std::span<const Encoding> texts);
  void ask(const Encoding& framed, size_t text);
  void ask_label(const Encoding& framed, size_t text, size_t label);
  void judge(const Step& step, std::span<const float> logits);
  size_t place_of_label(const Encoding& framed) const;
  std::vector<int32_t> with_masks(const Encoding& framed, size_t masks) const;

  const Tokenizer& tokenizer_;
  const ClozePlan& plan_;
  MaskQueries queries_;
  std::vector<Step> steps_;
  std::vector<double> logprobs_;     ///< [texts, labels]
  std::vector<double> calibration_;  ///< [labels]: logprobs without a text; empty: none
};

}  // namespace bert
