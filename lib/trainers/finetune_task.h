#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/dev_score.h"
#include "trainers/finetune.h"
#include "trainers/finetune_plan.h"
#include "training/bert_network.h"
#include "training/saving.h"

namespace bert {

/// A task as the loop over epochs (trainers/epochs.h) sees it: a network, numbered examples to
/// learn from, and a score. A class for each kind of data derives from it and fills the members.
class FinetuneTask {
 public:
  virtual ~FinetuneTask() = default;
  FinetuneTask(const FinetuneTask&) = delete;
  FinetuneTask& operator=(const FinetuneTask&) = delete;

  const FinetuneOptions& options() const { return options_; }
  const FinetunePlan& plan() const { return plan_; }
  const training::ModelFiles& files() const { return files_; }
  training::Learner& learner() { return *learner_; }
  const training::BertNetwork& network() const {
    return static_cast<const training::BertNetwork&>(learner_->network());
  }
  void notice(const std::string& message) const {
    if (options_.on_notice) options_.on_notice(message);
  }

  /// Everything that decides the steps, for RunOptions::identity.
  training::RunOptions run_options() const;

  /// The examples of an epoch.
  virtual size_t examples() const = 0;
  virtual training::StepSize size_of(uint32_t example) const = 0;
  virtual void fill(std::span<const uint32_t> examples, training::TrainingBatch& batch) const = 0;
  /// Whether predictions are right or wrong, so that training has an accuracy.
  virtual bool has_accuracy() const = 0;
  virtual bool has_dev() const = 0;
  /// What a dev example is called.
  virtual std::string_view dev_noun() const { return "dev examples"; }
  /// What the dev examples can be judged by, the usual measure first.
  virtual std::vector<std::string> measures() const = 0;
  /// The texts of the dev examples by origin, where they are kept.
  virtual std::span<const std::string> dev_texts() const { return {}; }
  virtual DevScore score() = 0;
  /// Sets what follows from the parameters, before the model is written.
  virtual void complete() {}

 protected:
  /// Throws Error that names an option which is out of range.
  explicit FinetuneTask(const FinetuneOptions& options);

  /// Whether the examples of a step learn from each other (Network::vector_size()).
  virtual bool learns_jointly() const { return false; }
  /// The name of the task, and what of its own decides the steps.
  virtual std::string name() const = 0;
  virtual std::map<std::string, std::string> identity() const = 0;

  /// Sets the plan for so many examples, and batch size and rate of the options by it.
  training::LearnerOptions settle_plan(const Config& config, size_t examples);
  /// What all tasks say of their net. Throws Error(unsupported) for LoRA over weights that no
  /// adapter can change.
  training::HeadPlan head_plan(HeadKind objective, const Config& config,
                               const Weights& start) const;
  /// Sets the rates of the layers, and freezes those that stay as they are. With LoRA, begins it.
  void settle_rates();
  /// Tells the plan and the memory that it wants.
  void tell_plan();

  FinetuneOptions options_;  ///< with batch size and rate of the plan
  FinetunePlan plan_;
  training::ModelFiles files_;
  std::unique_ptr<training::Learner> learner_;

 private:
  training::StepSize largest_step() const;
  size_t tokens_of_pass() const;
  void begin_lora();
};

}  // namespace bert
