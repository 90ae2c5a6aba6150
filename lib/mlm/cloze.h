#pragma once

#include <string>
#include <vector>

#include "mlm/mlm.h"
#include "tasks/classify.h"

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

/// Weighs the labels of each record. The probability of a label of n pieces is the product over i
/// of P(piece i | the text, the pieces before i in place, masks for i and those behind it), as in
/// mlm-fill --targets; scores are shares of 1.
class BERT_API ClozeWorker : public LabelWorker {
 public:
  /// Borrows everything but the options. Throws Error(usage) for windows.
  ClozeWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
              const LabelPlan& plan, const ClozePlan& cloze, const ClassifyOptions& classify,
              const TaskOptions& options);
  void use_team(Team* team) override { queries_.use_team(team); }

 protected:
  void score(std::span<const Record> records) override;

 private:
  /// A row of logits that was asked for.
  struct Step {
    size_t text;
    size_t label;  ///< or kSinglePieces: all labels of one piece
    size_t piece;
  };
  static constexpr size_t kSinglePieces = SIZE_MAX;

  void compute(size_t texts);
  void ask(size_t text);
  void ask_label(size_t text, size_t label);
  void judge(const Step& step, std::span<const float> logits);
  size_t place_of_label(size_t text) const;
  std::vector<int32_t> with_masks(size_t text, size_t masks) const;

  const ClozePlan& cloze_;
  MaskQueries queries_;
  std::vector<Encoding> texts_;  ///< [CLS] text [SEP]
  std::vector<Step> steps_;
  std::vector<double> logprobs_;     ///< [texts, labels]
  std::vector<double> calibration_;  ///< [labels]: logprobs without a text; empty: none
};

}  // namespace bert
