#include "api/tool_rows.h"
#include "rows/mlm_fill.h"

namespace bert::api {

MakeWorker fill_rows(const bert_model& model, const TaskOptions& task) {
  const Tokenizer& tokenizer = model.tokenizer.tokenizer;
  const auto plan = std::make_shared<FillPlan>(
      FillPlan::make(MlmFillOptions{}, tokenizer, task.encode.max_length));
  return [&model, &tokenizer, task, plan] {
    return std::make_unique<MlmFillWorker>(tokenizer, model.model(), *model.masked_lm, *plan,
                                           nullptr, task);
  };
}

}  // namespace bert::api
