#include "rows/task_options.h"

#include "predict/opened_model.h"
#include "predict/opened_translator.h"

namespace bert {
namespace {

TaskOptions options_of(const TaskRequest& request, const ReadOptions& reading) {
  TaskOptions options;
  static_cast<ReadOptions&>(options) = reading;
  options.max_batch_tokens = request.max_batch_tokens;
  options.strict = request.strict;
  return options;
}

template <typename Opened>
TaskOptions options_of_model(const Opened& model, const ReadOptions& reading) {
  TaskOptions options = options_of(model.request(), reading);
  options.precision = model.precision();
  options.bad_weights = [&model] { return model.bad_weights(); };
  return options;
}

}  // namespace

TaskOptions task_options(const OpenedModel& model) { return task_options(model, model.reading()); }

TaskOptions task_options(const OpenedModel& model, const ReadOptions& reading) {
  return options_of_model(model, reading);
}

TaskOptions task_options(const OpenedTranslator& model) {
  return options_of_model(model, model.reading());
}

TaskOptions task_options(const TaskRequest& request, const ReadOptions& reading) {
  return options_of(request, reading);
}

TaskOptions task_options(const TaskRequest& request, const Tokenizer& tokenizer, bool special,
                         bool pair) {
  return options_of(request, reading_of_tokens(request, tokenizer, special, pair));
}

}  // namespace bert
