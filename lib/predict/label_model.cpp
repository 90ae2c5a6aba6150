#include "predict/label_model.h"

#include "base/error.h"
#include "directory/checkpoint.h"
#include "directory/file_names.h"
#include "directory/sentence_modules.h"

namespace bert {
namespace {

/// A CrossEncoder of modules has no labels: the score of a pair is what they give.
void refuse_scores(const OpenedModel& opened) {
  const ModelDirectory& directory = opened.request().directory;
  const Model& model = opened.model();
  if (!directory.has(file_names::kModules) ||
      has_plain_head(model.config(), model.weights(), HeadKind::classify)) {
    return;
  }
  const SentenceModules modules = SentenceModules::open(directory);
  if (!modules.scores && !modules.logit_score) return;
  throw Error(Error::Kind::unsupported, directory.file(file_names::kModules),
              "the model gives the score of a pair (CrossEncoder), no labels: rank works with it");
}

}  // namespace

LabelModel::LabelModel(const TaskRequest& request, const LabelChoice& choice) : opened_(request) {
  if (opened_.request().head.empty()) refuse_scores(opened_);
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
