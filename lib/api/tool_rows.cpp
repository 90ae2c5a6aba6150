#include "api/tool_rows.h"

#include <algorithm>

#include "tasks/classify.h"
#include "tasks/ner.h"
#include "tasks/nsp_score.h"
#include "tasks/qa.h"

namespace bert::api {

MakeWorker tool_rows(const bert_model& model, TaskOptions task, StreamOptions& stream) {
  const Tokenizer& tokenizer = model.tokenizer.tokenizer;
  task.encode = encode_of(model);
  task.stride = std::min<size_t>(128, model.max_length / 2);
  task.precision = model.fixed ? Precision::f32 : model.model().precision();
  if (model.task.empty()) {
    if (model.no_vectors) throw Error(*model.no_vectors);
    if (model.fixed) {
      return [&model, &tokenizer, task] {
        return std::make_unique<EmbedWorker>(tokenizer, *model.fixed, *model.dense, model.plan,
                                             task);
      };
    }
    return [&model, &tokenizer, task] {
      return std::make_unique<EmbedWorker>(tokenizer, model.model(), *model.dense, model.plan,
                                           task);
    };
  }
  if (model.masked_lm) return fill_rows(model, task);
  if (model.task == "text-classification") {
    const auto plan = std::make_shared<LabelPlan>(LabelPlan::make(*model.classifier, {}));
    return [&model, &tokenizer, task, plan] {
      return std::make_unique<ClassifyWorker>(tokenizer, model.model(), *model.classifier, *plan,
                                              ClassifyOptions{}, task);
    };
  }
  if (model.token_classifier) {
    task.overflow = Overflow::window;
    task.number = true;  // a line has several rows, or none
    return [&model, &tokenizer, task] {
      return std::make_unique<NerWorker>(tokenizer, model.model(), *model.token_classifier,
                                         NerOptions{}, task);
    };
  }
  stream.texts = 2;
  if (model.question_answering) {
    task.overflow = Overflow::window;
    task.encode.truncation = Truncation::only_second;
    return [&model, &tokenizer, task] {
      return std::make_unique<QaWorker>(tokenizer, model.model(), *model.question_answering,
                                        QaOptions{}, task);
    };
  }
  return [&model, &tokenizer, task] {
    return std::make_unique<NspScoreWorker>(tokenizer, model.model(), *model.classifier,
                                            NspScoreOptions{}, task);
  };
}

}  // namespace bert::api
