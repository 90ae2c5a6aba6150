#include "trainers/finetune_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "checkpoint/lora.h"
#include "directory/adapter.h"
#include "trainers/supervised.h"
#include "training/adapter_files.h"
#include "training/module_layers.h"

namespace bert {

FinetuneTask::FinetuneTask(const FinetuneOptions& options) : options_(options) {
  options.check_learning_rate();
  const auto refuse = [](const char* field, double value, const char* wanted) {
    throw Error::of_field(field, fmt::format("found {}, wants {}", value, wanted));
  };
  if (options.epochs && !(*options.epochs > 0 && *options.epochs < 1e6)) {
    refuse("epochs", *options.epochs, "a number above 0");
  }
  if (!(options.warmup_ratio >= 0 && options.warmup_ratio <= 1)) {
    refuse("warmup_ratio", options.warmup_ratio, "a number from 0 to 1");
  }
}

training::LearnerOptions FinetuneTask::settle_plan(const Config& config, size_t examples) {
  const size_t layers = config.stored_layers();
  if (options_.freeze_layers.value_or(0) > layers) {
    throw Error::of_field("freeze_layers", fmt::format("found {}, wants at most {}",
                                                       *options_.freeze_layers, layers));
  }
  chosen_measure(options_.metric, measures());
  plan_ = FinetunePlan::make(options_, config, examples);
  options_.batch_size = plan_.batch_size;
  options_.learner.optimizer.learning_rate = plan_.learning_rate;
  if (learns_jointly()) options_.learner.max_pass_tokens = tokens_of_pass();
  return options_.learner_options(plan_.steps);
}

/// A step of more tokens than a pass has computes its examples again on the way back, in passes of
/// any size alike: small ones then keep the memory of a small batch.
size_t FinetuneTask::tokens_of_pass() const {
  constexpr size_t kUsual = training::LearnerOptions().max_pass_tokens, kSmall = 512;
  const size_t tokens = options_.learner.max_pass_tokens;
  return tokens == kUsual && largest_step().tokens > 2 * kUsual ? kSmall : tokens;
}

training::HeadPlan FinetuneTask::head_plan(HeadKind objective, const Config& config,
                                           const Weights& start) const {
  const auto is_blocked = [](const TensorView* tensor) { return tensor->blocked; };
  const std::vector<const TensorView*> tensors = start.tensors();
  if (options_.lora.rank > 0 && !options_.merge &&
      std::any_of(tensors.begin(), tensors.end(), is_blocked)) {
    throw no_base(options_.model.path(), "`merge`");
  }
  training::HeadPlan head;
  head.objective = objective;
  head.dropout = options_.dropout_rates(config, objective);
  head.low_rank = options_.lora;
  return head;
}

void FinetuneTask::begin_lora() {
  const size_t layers = network().config().stored_layers();
  for (training::Parameter& p : learner_->layout().parameters()) {
    const bool of_head =
        options_.task != HeadKind::vectors && p.depth > static_cast<int32_t>(layers);
    const bool learns =
        of_head || training::is_low_rank(p.name) || training::is_module_tensor(p.name);
    if (!learns) p.rate_scale = 0;
  }
  network().low_rank().begin(options_.learner.seed, learner_->values(), learner_->first_moments());
  if (options_.merge) return;
  if (options_.model.adapter()) {
    throw Error(Error::Kind::unsupported, options_.model.adapter()->folder(),
                "is an adapter itself; wants a whole model, or `merge`");
  }
  const auto path = std::filesystem::absolute(options_.model.path()).lexically_normal();
  files_.adapter = training::adapter_config(learner_->layout(), network(), path.string());
}

void FinetuneTask::settle_rates() {
  const size_t layers = network().config().stored_layers();
  const auto top = static_cast<double>(layers + 1);
  for (training::Parameter& p : learner_->layout().parameters()) {
    p.rate_scale = static_cast<float>(std::pow(options_.layer_decay, top - p.depth));
  }
  if (options_.lora.rank > 0) return begin_lora();
  const bool head_only = !options_.head.empty();
  const size_t frozen = options_.freeze_layers.value_or(head_only ? layers : 0);
  if (frozen > 0 || options_.freeze_embeddings || head_only) freeze(learner_->layout(), frozen);
}

/// The largest batch of the first epoch.
training::StepSize FinetuneTask::largest_step() const {
  const std::vector<uint32_t> order = shuffled(examples(), options_.learner.seed, 0);
  training::StepSize largest, step;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % options_.batch_size == 0) step = {};
    const training::StepSize one = size_of(order[i]);
    step.sequences += one.sequences;
    step.tokens += one.tokens;
    largest.sequences = std::max(largest.sequences, step.sequences);
    largest.tokens = std::max(largest.tokens, step.tokens);
    largest.longest = std::max(largest.longest, one.longest);
  }
  return largest;
}

void FinetuneTask::tell_plan() {
  notice(plan_.text());
  if (options_.on_memory) options_.on_memory(learner_->bytes_to_come(largest_step(), has_dev()));
}

training::RunOptions FinetuneTask::run_options() const {
  training::RunOptions run = options_.run_options(name(), plan_.steps);
  run.identity.merge(std::map<std::string, std::string>{
      {"patience", std::to_string(options_.patience)},
      {"metric", chosen_measure(options_.metric, measures())},
      {"steps between scores", std::to_string(options_.eval_every)},
      {"average", fmt::format("{}", options_.learner.average)},
      {"lora", options_.lora.rank == 0
                   ? "none"
                   : fmt::format("rank {} alpha {} of {}", options_.lora.rank, options_.lora.alpha,
                                 fmt::join(options_.lora.targets, ","))},
      {"label smoothing", fmt::format("{}", options_.label_smoothing)},
      {"frozen layers",
       options_.freeze_layers ? std::to_string(*options_.freeze_layers) : "by default"},
      {"frozen embeddings", options_.freeze_embeddings ? "yes" : "no"},
      {"layer decay", fmt::format("{}", options_.layer_decay)}});
  run.identity.merge(identity());
  return run;
}

}  // namespace bert
