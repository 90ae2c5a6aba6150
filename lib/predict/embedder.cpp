#include "predict/embedder.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace bert {

Embedder::Embedder(const OpenedModel& model, SentenceModules modules)
    : model_(model), modules_(std::move(modules)) {
  modules_.check_case(model.tokenizer().lowercase());
  modules_.check_length(model.tokenizer().added_tokens_single());
}

VectorPlan Embedder::plan(const VectorChoice& choice) {
  const std::string mode = choice.words ? "none" : choice.pool;
  const StaticText* fixed = model_.fixed();
  VectorPlan plan = fixed ? VectorPlan::make(*fixed, modules_, mode, choice.layers)
                          : VectorPlan::make(model_.model(), modules_, mode, choice.layers);
  // Words want a pooling of their own.
  if (modules_.of_tokens && !choice.words && mode == "none" && choice.layers.empty()) {
    plan.take_token_modules(modules_);
    late_ = LateSide::of_document(model_.tokenizer(),
                                  LateInteraction::open(model_.request().directory, modules_));
  }
  const size_t width = plan.full_width();
  if (choice.dims > width) {
    throw Error::of_field("dims", fmt::format("found {}, wants at most {}", choice.dims, width));
  }
  plan.dims = choice.dims;
  return plan;
}

ReadOptions Embedder::reading(const std::string& prompt) const {
  const bool limits = late_ && late_->length > 0;
  ReadOptions reading =
      model_.reading(task_spec(TaskKind::feature_extraction), tokenizer(),
                     limits ? ModuleLimit{late_->length} : ModuleLimit::of(modules_));
  reading.prompt = prompt;
  return reading;
}

const VectorPredictor& Embedder::predictor(const VectorPlan& plan) {
  if (predictor_) return *predictor_;
  if (const StaticText* fixed = model_.fixed()) {
    predictor_.emplace(tokenizer(), *fixed, plan);
  } else {
    predictor_.emplace(tokenizer(), model_.model(), plan);
  }
  for (const Weights* weights : plan.weights()) model_.settle(*weights);
  return *predictor_;
}

}  // namespace bert
