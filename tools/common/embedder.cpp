#include "common/embedder.h"

#include <fmt/format.h>

namespace bert::tools {

void add_vector_options(Command& app, VectorOptions& options) {
  app.add(
      {"--pool", "cls, mean, max, ..., pooler; none: a row per token (default: the model's own)",
       text("MODE")},
      options.pool);
  app.add({"--layers", "12, -2, sum:9-12, mean:9=1,12=3, concat:9-12, word or onehot (default: -1)",
           text("EXPR")},
          options.layers);
  app.add({"--dims", "keep the first N numbers", positive()}, options.dims);
}

Embedder::Embedder(const ModelOptions& models)
    : models_(models),
      modules_(SentenceModules::open(models.directory())),
      tokenizer_(models.open_tokenizer(true)) {
  modules_.check_case(tokenizer_.lowercase());
  modules_.check_length(tokenizer_.added_tokens_single());
  if (const StaticFiles* files = models.directory().static_files()) {
    fixed_ = models.open_static(*files, tokenizer_);
  } else {
    model_ = models.open_model();
  }
}

VectorPlan Embedder::plan(const VectorOptions& options, const std::string& pool) {
  const std::string& mode = pool.empty() ? options.pool : pool;
  VectorPlan plan = model_ ? VectorPlan::make(*model_, modules_, mode, options.layers)
                           : VectorPlan::make(*fixed_, modules_, mode, options.layers);
  // Not with --words, which asks for a pooling of its own.
  if (modules_.of_tokens && pool.empty() && mode == "none" && options.layers.empty()) {
    plan.take_token_modules(modules_);
    late_ = LateSide::of_document(tokenizer_, LateInteraction::open(models_.directory(), modules_));
  }
  const size_t width = plan.full_width();
  if (options.dims > width) {
    throw Error(Error::Kind::usage, "--dims",
                fmt::format("found {}, wants at most {}", options.dims, width));
  }
  plan.dims = options.dims;
  return plan;
}

TaskOptions Embedder::task(const std::string& prompt) const {
  TaskOptions task;
  task.prompt = prompt;
  const bool limits = late_ && late_->length > 0;
  if (model_) {
    models_.fill(task, tokenizer(), *model_, task_spec(TaskKind::feature_extraction),
                 limits ? ModuleLimit{late_->length} : ModuleLimit::of(modules_));
  }
  if (fixed_) models_.fill(task, *fixed_);
  return task;
}

const VectorPredictor& Embedder::predictor(const VectorPlan& plan) {
  if (predictor_) return *predictor_;
  if (model_) predictor_.emplace(tokenizer(), *model_, plan);
  if (fixed_) predictor_.emplace(tokenizer_, *fixed_, plan);
  for (const SentenceModules::Dense& module : plan.dense) models_.settle(*module.weights);
  return *predictor_;
}

}  // namespace bert::tools
