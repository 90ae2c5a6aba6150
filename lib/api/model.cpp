#include <fmt/format.h>

#include "api/handles.h"
#include "directory/static_files.h"

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

/// The steps to the vector of a sentence, or the reason why there are none: hidden states do
/// without. Returns the modules' limit of tokens, if they have one.
std::optional<size_t> open_sentence_modules(bert_model& model, bool no_mmap) try {
  const SentenceModules modules = SentenceModules::open(model.directory);
  const Tokenizer& tokenizer = model.tokenizer.tokenizer;
  modules.check_case(tokenizer.lowercase());
  modules.check_length(tokenizer.added_tokens_single());
  VectorPlan plan = model.fixed ? VectorPlan::make(*model.fixed, modules, "", "")
                                : VectorPlan::make(model.model(), modules, "", "");
  model.prompt = modules.prompt();
  if (model.fixed) {
    model.vectors.emplace(tokenizer, *model.fixed, std::move(plan));
  } else {
    model.vectors.emplace(tokenizer, model.model(), std::move(plan));
  }
  for (const SentenceModules::Dense& module : modules.dense) {
    if (no_mmap) module.weights->hold();
  }
  return modules.settings.max_length;
} catch (const Error& error) {
  model.no_vectors = error;
  return std::nullopt;
}

/// A limit of the modules holds instead of the tokenizer's.
void set_max_length(bert_model& model, std::optional<size_t> module_limit) {
  const Tokenizer& tokenizer = model.tokenizer.tokenizer;
  const Config& config = model.model().config();
  if (tokenizer.vocab_size() > config.vocab_size) {
    throw Error(Error::Kind::data, model.directory.path(),
                fmt::format("vocabulary of {} tokens, wants at most {}, the rows of the embeddings",
                            tokenizer.vocab_size(), config.vocab_size));
  }
  const auto limit = module_limit ? module_limit : tokenizer.model_max_length();
  model.max_length = spec_of(model).max_length(config.max_tokens(), limit);
}

void open_static(bert_model& model, const StaticFiles& files, bool no_mmap) {
  model.fixed = StaticText::open(files, model.tokenizer.tokenizer);
  if (no_mmap) model.fixed->vectors.weights().hold();
  model.max_length = model.fixed->max_length;
  open_sentence_modules(model, no_mmap);
}

bert_model* open_model(const char* name, const bert_model_options& options) {
  if (name && !*name) refuse("model", "found an empty name");
  const ModelDirectory directory = ModelDirectory::open(name ? name : "");
  const std::string task = options.task ? options.task : "";
  const HeadSpec* spec = head_of_task(task);
  if (!spec && !task.empty()) {
    refuse("task", fmt::format("found '{}', which is none", printable(task)));
  }
  const StaticFiles* files = directory.static_files();
  if (files && spec) throw_static_vectors(directory);
  std::unique_ptr<bert_model> model(
      new bert_model{task, directory, {open_any_tokenizer(directory)}});
  const bool no_mmap = options.no_mmap != 0;
  if (files) {
    open_static(*model, *files, no_mmap);
    return model.release();
  }
  const HeadChoice head{options.head ? options.head : "",
                        spec ? std::optional(spec->kind) : std::nullopt};
  model->encoder = Model::open(directory, precision_of(options.dtype), head);
  if (no_mmap) model->encoder->weights().hold();
  if (task.empty()) {
    set_max_length(*model, open_sentence_modules(*model, no_mmap));
  } else {
    open_head(*model);
    set_max_length(*model, std::nullopt);
  }
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

const TaskSpec& spec_of(const bert_model& model) {
  const HeadSpec* head = head_of_task(model.task);
  return task_spec(head ? head->kind : HeadKind::vectors);
}

ReadOptions reading_of(const bert_model& model) {
  const TaskSpec& spec = spec_of(model);
  ReadOptions reading;
  reading.overflow = spec.overflow;
  reading.stride = spec.stride_within(model.max_length);
  reading.encode.truncation = spec.truncation;
  reading.encode.add_special_tokens = !model.fixed;
  reading.encode.max_length = model.max_length;
  reading.encode.tail = !model.fixed && model.tokenizer.tokenizer.truncates_left() ? SIZE_MAX : 0;
  reading.prompt = model.prompt;
  if (model.fixed) reading.fixed = &*model.fixed;
  return reading;
}

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
  if (model && model->fixed) return model->fixed->vectors.width();
  return model ? model->model().config().hidden_size : 0;
}

size_t bert_layer_count(const bert_model* model) {
  return model && model->encoder ? model->encoder->config().num_hidden_layers : 0;
}

size_t bert_attention_head_count(const bert_model* model) {
  return model && model->encoder ? model->encoder->config().num_attention_heads : 0;
}

size_t bert_max_length(const bert_model* model) { return model ? model->max_length : 0; }

size_t bert_label_count(const bert_model* model) {
  const auto* labels = labels_of(model);
  return labels ? labels->size() : 0;
}

const char* bert_label(const bert_model* model, size_t index) {
  const auto* labels = labels_of(model);
  return labels && index < labels->size() ? (*labels)[index].c_str() : nullptr;
}
