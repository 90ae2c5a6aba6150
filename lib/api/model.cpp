#include <fmt/format.h>

#include "api/handles.h"

using namespace bert;
using namespace bert::api;

namespace {

std::optional<Precision> precision_of(bert_dtype dtype) {
  switch (dtype) {
    case BERT_DTYPE_AUTO:
      return std::nullopt;
    case BERT_F32:
      return Precision::f32;
    case BERT_BF16:
      return Precision::bf16;
    case BERT_INT8:
      return Precision::int8;
  }
  refuse("dtype", fmt::format("found {}, wants 0 to 3", static_cast<int>(dtype)));
}

void open_head(bert_model& model) {
  const std::string& task = model.task;
  const Tokenizer& tokenizer = model.tokenizer.tokenizer;
  if (task == "fill-mask") {
    model.masked_lm = MaskedLM::open(model.model());
  } else if (task == "text-classification") {
    model.labels.emplace(model.model());
  } else if (task == "next-sentence-prediction") {
    model.next_sentence.emplace(model.model());
  } else if (task == "token-classification") {
    model.token_labels.emplace(tokenizer, model.model());
  } else {
    model.answers.emplace(tokenizer, model.model());
  }
}

/// What gives vectors of texts, or the reason why nothing does: hidden states do without.
void open_vectors(bert_model& model) try {
  const OpenedModel& opened = model.opened;
  Embedder& embedder =
      model.embedder.emplace(opened, SentenceModules::open(opened.request().directory));
  model.vectors = &embedder.predictor(embedder.plan({}));
} catch (const Error& error) {
  model.no_vectors = error;
}

TaskRequest request_of(const char* name, const bert_model_options& options) {
  if (name && !*name) refuse("model", "found an empty name");
  TaskRequest request;
  request.directory = ModelDirectory::open(name ? name : "");
  const std::string task = options.task ? options.task : "";
  const HeadSpec* head = head_of_task(task);
  if (!head && !task.empty()) {
    refuse("task", fmt::format("found '{}', which is none", printable(task)));
  }
  if (head && head->kind == HeadKind::open_entities) {
    refuse("task", fmt::format("found '{}', which only the tool ner knows", task));
  }
  request.task = task_spec(head ? head->kind : HeadKind::vectors);
  request.overflow = request.task.overflow;
  request.hold = options.no_mmap != 0;
  if (!head && request.directory.static_files()) return request;  // which have no head, no products
  request.head = options.head ? options.head : "";
  request.dtype = precision_of(options.dtype);
  return request;
}

bert_model* open_model(const char* name, const bert_model_options& options) {
  const TaskRequest request = request_of(name, options);
  const std::string task = options.task ? options.task : "";
  const ModelsTaken taken = task.empty() ? ModelsTaken::any : ModelsTaken::layers;
  std::unique_ptr<bert_model> model(new bert_model{task, OpenedModel(request, taken)});
  task.empty() ? open_vectors(*model) : open_head(*model);
  model->reading = model->vectors ? model->embedder->reading(model->embedder->prompt())
                                  : model->opened.reading();
  return model.release();
}

const std::vector<std::string>* labels_of(const bert_model* model) {
  if (model && model->labels) return &model->labels->plan().labels;
  if (model && model->next_sentence) return &model->next_sentence->labels();
  if (model && model->token_labels) return &model->token_labels->labels();
  return nullptr;
}

}  // namespace

namespace bert::api {

void need_task(const bert_model& model, std::string_view task) {
  if (model.task == task) return;
  refuse("model",
         fmt::format("was opened for {}, wants {}", model.task.empty() ? "no task" : model.task,
                     task.empty() ? "no task" : task));
}

}  // namespace bert::api

int bert_model_open(const char* model, const bert_model_options* options, bert_model** opened) {
  if (opened) *opened = nullptr;
  return guard([&] {
    need(opened, "opened");
    *opened = open_model(model, read_options(options));
  });
}

void bert_model_close(bert_model* model) { delete model; }

const bert_tokenizer* bert_model_tokenizer(const bert_model* model) {
  return model ? &model->tokenizer : nullptr;
}

size_t bert_hidden_size(const bert_model* model) {
  if (!model) return 0;
  const StaticText* fixed = model->opened.fixed();
  return fixed ? fixed->vectors.width() : model->model().config().hidden_size;
}

size_t bert_layer_count(const bert_model* model) {
  return model && !model->opened.fixed() ? model->model().config().num_hidden_layers : 0;
}

size_t bert_attention_head_count(const bert_model* model) {
  return model && !model->opened.fixed() ? model->model().config().num_attention_heads : 0;
}

size_t bert_max_length(const bert_model* model) { return model ? model->max_length() : 0; }

size_t bert_label_count(const bert_model* model) {
  const auto* labels = labels_of(model);
  return labels ? labels->size() : 0;
}

const char* bert_label(const bert_model* model, size_t index) {
  const auto* labels = labels_of(model);
  return labels && index < labels->size() ? (*labels)[index].c_str() : nullptr;
}
