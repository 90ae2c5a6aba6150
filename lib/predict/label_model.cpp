#include "predict/label_model.h"

namespace bert {

LabelModel::LabelModel(const TaskRequest& request, const LabelChoice& choice) : opened_(request) {
  if (choice.candidates.empty() || !ClozePlan::fits(opened_.model())) {
    predictor_.emplace(opened_.model(), choice);
    return;
  }
  opened_.take_head(HeadKind::masked_lm);
  masked_ = MaskedLM::open(opened_.model());
  candidates_ = LabelPlan::of_candidates(choice);
}

ReadOptions LabelModel::reading(bool pair) const {
  TaskSpec task = task_spec(plan().hypotheses.empty() ? TaskKind::text_classification
                                                      : TaskKind::zero_shot_classification);
  if (pair) task.texts = 2;
  return opened_.reading(task, tokenizer());
}

}  // namespace bert
