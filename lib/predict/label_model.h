#pragma once

#include <optional>

#include "heads/masked_lm.h"
#include "predict/cloze.h"
#include "predict/labels.h"
#include "predict/opened_model.h"

namespace bert {

/// A model opened to label texts: with a head of labels or, for candidates, with a masked LM head
/// if it has no head that tells entailment.
class BERT_API LabelModel {
 public:
  /// Throws Error as OpenedModel, LabelPredictor, MaskedLM::open and LabelPlan::of_candidates.
  LabelModel(const TaskRequest& request, const LabelChoice& choice);

  const OpenedModel& opened() const { return opened_; }
  const Tokenizer& tokenizer() const { return opened_.tokenizer(); }
  const LabelPlan& plan() const { return masked_ ? candidates_ : predictor_->plan(); }
  /// The head of labels; nullptr: a masked LM weighs candidates.
  const LabelPredictor* predictor() const { return predictor_ ? &*predictor_ : nullptr; }
  const MaskedLM& masked_lm() const { return *masked_; }
  /// How texts, or pairs of them, are read.
  ReadOptions reading(bool pair) const;

 private:
  OpenedModel opened_;
  std::optional<LabelPredictor> predictor_;
  std::optional<MaskedLM> masked_;
  LabelPlan candidates_;  ///< the plan of the masked LM
};

}  // namespace bert
