#include "api/tool_rows.h"

#include "rows/classify.h"
#include "rows/embed.h"
#include "rows/ner.h"
#include "rows/nsp_score.h"
#include "rows/qa.h"

namespace bert::api {

MakeWorker tool_rows(const bert_model& model, TaskOptions task, StreamOptions& stream) {
  const Tokenizer& tokenizer = model.tokenizer.tokenizer;
  static_cast<ReadOptions&>(task) = model.reading;
  stream.texts = model.spec().texts;
  task.precision = model.opened.precision();
  if (model.task.empty()) {
    if (model.no_vectors) throw Error(*model.no_vectors);
    return [&model, task] { return EmbedWorker::make(*model.vectors, {}, task); };
  }
  if (model.masked_lm) return fill_rows(model, task);
  if (model.labels) {
    LabelPlan::make(model.labels->head(), {});  // rows name labels: refuses two of one name
    return [&model, &tokenizer, task] {
      return std::make_unique<ClassifyWorker>(tokenizer, *model.labels, ClassifyOptions{}, task);
    };
  }
  if (model.token_labels) {
    task.number = true;  // a line has several rows, or none
    return [&model, task] {
      return std::make_unique<NerWorker>(*model.token_labels, NerOptions{}, task);
    };
  }
  if (model.answers) {
    return [&model, task] { return std::make_unique<QaWorker>(*model.answers, QaOptions{}, task); };
  }
  return [&model, &tokenizer, task] {
    return std::make_unique<NspScoreWorker>(tokenizer, *model.next_sentence, NspScoreOptions{},
                                            task);
  };
}

}  // namespace bert::api
